"""Record the objects that a new cluster has, as a data file of the product.

    python -m tests.cluster.record_start_objects

writes ``myrmidon/apiserver/catalog/start_objects.json.gz``: for each resource of ``RESOURCES`` its
objects as JSON text, with a placeholder for the time and uids that are the same in each recording.
The roles of view, edit and admin are as the controller for aggregated roles leaves them.

Left out: namespaces and service accounts, which controllers make; APIServices, Leases and the
ConfigMaps of the API server, which are about its own process and its certificates.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane
from tests.cluster.controlplane.processes import wait_until

OUT = Path(__file__).parents[2] / "myrmidon/apiserver/catalog/start_objects.json.gz"
RESOURCES = {
    "clusterrolebindings.rbac.authorization.k8s.io": "/apis/rbac.authorization.k8s.io/v1",
    "clusterroles.rbac.authorization.k8s.io": "/apis/rbac.authorization.k8s.io/v1",
    "endpoints": "/api/v1",
    "endpointslices.discovery.k8s.io": "/apis/discovery.k8s.io/v1",
    "flowschemas.flowcontrol.apiserver.k8s.io": "/apis/flowcontrol.apiserver.k8s.io/v1",
    "ipaddresses.networking.k8s.io": "/apis/networking.k8s.io/v1",
    "priorityclasses.scheduling.k8s.io": "/apis/scheduling.k8s.io/v1",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": "/apis/flowcontrol.apiserver.k8s.io/v1",
    "rolebindings.rbac.authorization.k8s.io": "/apis/rbac.authorization.k8s.io/v1",
    "roles.rbac.authorization.k8s.io": "/apis/rbac.authorization.k8s.io/v1",
    "servicecidrs.networking.k8s.io": "/apis/networking.k8s.io/v1",
    "services": "/api/v1",
}
AGGREGATOR = "clusterrole-aggregation-controller"
ADDRESS, PORT = "192.0.2.1", 6443  # an address for documentation, and the usual port
Json = dict[str, Any]
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"')


def main() -> None:
    """Start a server, and write."""
    with ControlPlane(
        find(),
        controllers=(*CONTROLLERS, AGGREGATOR),
        apiserver_flags={"endpoint_reconciler_type": "lease", "advertise_address": ADDRESS},
    ) as plane:
        client = plane.client()
        wait_until(lambda: is_complete(client), "the objects of a new cluster", 60)
        text = json.dumps(recorded(client, plane.port), sort_keys=True, separators=(",", ":"))
    OUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def is_complete(client: Client) -> bool:
    """Whether the roles are aggregated, and the address of the server is published."""
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    admin, view = (client.get(f"{roles}/{name}").body.get("rules") for name in ("admin", "view"))
    return bool(admin and view and client.status(slices) == 200)


def recorded(client: Client, port: int) -> dict[str, str]:
    """Return the objects of each resource, as JSON text."""
    found: dict[str, str] = {}
    number = 0
    for resource, root in RESOURCES.items():
        listed = client.get(f"{root}/{resource.partition('.')[0]}").body
        kind, api_version = listed["kind"].removesuffix("List"), listed["apiVersion"]
        for obj in listed["items"]:
            number += 1
            obj["metadata"]["uid"] = f"00000000-0000-4000-9000-{number:012x}"
            obj["metadata"]["resourceVersion"] = "1"
            obj.update(apiVersion=api_version, kind=kind)
        text = json.dumps(listed["items"], separators=(",", ":"))
        found[resource] = _TIME.sub('"${now}"', text).replace(f":{port}", f":{PORT}")
    return found


if __name__ == "__main__":
    main()

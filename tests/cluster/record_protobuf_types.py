"""Record the protobuf messages of the built-in kinds, as a data file of the product.

    python -m tests.cluster.record_protobuf_types

asks the Go types themselves (``tests/cluster/gotypes``) and writes
``myrmidon/apiserver/wire/protobuf.json.gz``: the message of each kind, and for each message the
number, the JSON name, the type and the label (repeated, map, inline) of its fields.  Kinds of
versions that the server does not serve are left out, with the messages that only they need.

It also writes ``tests/apiserver/wire/samples.json.gz``: objects of some kinds as Go encodes them,
for tests where Go is missing.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from myrmidon.apiserver.catalog import files
from tests.cluster.gotypes import ask

OUT = Path(__file__).parents[2] / "myrmidon/apiserver/wire/protobuf.json.gz"
SAMPLES = Path(__file__).parents[1] / "apiserver/wire/samples.json.gz"
KEPT = (
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
    "apps/v1/Deployment",
    "authentication.k8s.io/v1/TokenRequest",
    "authentication.k8s.io/v1/TokenReview",
    "coordination.k8s.io/v1/Lease",
    "events.k8s.io/v1/Event",
    "meta.k8s.io/v1/PartialObjectMetadataList",
    "networking.k8s.io/v1/IngressClass",
    "v1/DeleteOptions",
    "v1/PodList",
    "v1/Secret",
    "v1/Status",
)
Json = dict[str, Any]


def main() -> None:
    """Ask and write."""
    text = json.dumps(served(json.loads(ask("table"))), sort_keys=True, separators=(",", ":"))
    OUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    samples = [json.loads(line) for line in ask("encode").splitlines()]
    kept = [each for each in samples if each["kind"] in KEPT]
    SAMPLES.write_bytes(gzip.compress(json.dumps(kept).encode(), 9, mtime=0))


def served(table: Json) -> Json:
    """Return the table without the kinds that are not served."""
    versions = {"v1", "meta.k8s.io/v1", "meta.k8s.io/v1beta1", "apidiscovery.k8s.io/v2"}
    for group in files.served()["groups"]:
        for version in group["versions"]:
            versions.add(f"{group['name']}/{version['version']}".lstrip("/"))
    kinds = {
        name: message
        for name, message in table["kinds"].items()
        # An event of a watch has neither kind nor apiVersion.
        if name.rpartition("/")[0] in versions and not name.endswith("/WatchEvent")
    }
    messages: Json = {}
    needed = list(kinds.values())
    while needed:
        name = needed.pop()
        if name in table["messages"] and name not in messages:
            messages[name] = table["messages"][name]
            needed += [type_ for _, type_, _ in messages[name].values()]
    return {"kinds": kinds, "messages": messages}


if __name__ == "__main__":
    main()

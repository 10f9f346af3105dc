"""Find the address of a webhook that is named by its Service.

A cluster routes the address of a Service to its pods.  Here the address leads nowhere, so a ready
endpoint of the Service is called itself: from its EndpointSlices, or from its Endpoints if it has none.
A webhook in another process is thus reached through a Service without a selector and an EndpointSlice
with the address of that process, as outside a cluster.  The host name of the request, and the name that
its certificate must have, is ``<service>.<namespace>.svc``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.store import ObjectStore

_PORT_DEFAULT = 443
_SLICES = "endpointslices.discovery.k8s.io"
_SERVICE_LABEL = "kubernetes.io/service-name"


class ServiceAddress(NamedTuple):
    """Where a webhook is called: the URL that it is known by, and the address behind it.

    ``problem`` says why there is no address, in the words of the real server.
    """

    url: str
    server_name: str
    host: str = ""
    port: int = 0
    problem: str = ""


def resolve(store: ObjectStore, service: Json) -> ServiceAddress:
    """Return the address of a Service in a ``clientConfig``."""
    name, namespace = service["name"], service["namespace"]
    wanted = service.get("port") or _PORT_DEFAULT
    server_name = f"{name}.{namespace}.svc"
    path = "/" + (service.get("path") or "").removeprefix("/")
    known = ServiceAddress(f"https://{server_name}:{wanted}{path}", server_name)
    record = store.get("services", f"{namespace}/{name}")
    if record is None:
        return known._replace(problem=f"service {quote(name)} not found")
    spec = record.value["spec"]
    if spec.get("type") == "ExternalName":
        return known._replace(host=spec.get("externalName", ""), port=wanted)
    port = next((each for each in spec.get("ports") or () if each["port"] == wanted), None)
    if port is None:
        problem = f"no service port {wanted} found for service {quote(name)}"
        return known._replace(problem=problem)
    for host, number in _endpoints(store, namespace, name, port.get("name", "")):
        return known._replace(host=host, port=number)
    return known._replace(problem=f"no endpoints available for service {quote(name)}")


def _endpoints(
    store: ObjectStore, namespace: str, name: str, port_name: str
) -> Iterator[tuple[str, int]]:
    """Yield the ready addresses of a Service, with the number of the named port."""
    for record in store.scan(_SLICES, f"{namespace}/"):
        if labels_of(record.value).get(_SERVICE_LABEL) == name:
            port = _number(record.value.get("ports"), port_name)
            for endpoint in (record.value.get("endpoints") or ()) if port else ():
                if (endpoint.get("conditions") or {}).get("ready") is not False:
                    yield from ((address, port) for address in endpoint["addresses"])
    old = store.get("endpoints", f"{namespace}/{name}")
    for subset in (old.value.get("subsets") or ()) if old is not None else ():
        port = _number(subset.get("ports"), port_name)
        if port:
            yield from ((each["ip"], port) for each in subset.get("addresses") or ())


def _number(ports: list[Any] | None, name: str) -> int:
    found = (each.get("port") for each in ports or () if (each.get("name") or "") == name)
    return next((number for number in found if number), 0)

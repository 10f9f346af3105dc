"""``/metrics``: the number of stored objects, the one metric of kube-apiserver that has a meaning here."""

from collections.abc import Iterable

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.store import ObjectStore

_CONTENT = (("content-type", "text/plain; version=0.0.4; charset=utf-8"),)
_HEAD = (
    (
        "# HELP apiserver_storage_objects [STABLE] Number of stored objects at the time of last check"
        " split by kind."
    ),
    "# TYPE apiserver_storage_objects gauge",
)


def metrics(resources: Iterable[str], store: ObjectStore) -> HttpResponse:
    """Return the number of objects of each stored resource, in the text format of Prometheus."""
    counts = [
        f'apiserver_storage_objects{{resource="{name}"}} {store.count(name)}'
        for name in sorted(resources)
    ]
    return HttpResponse(200, _CONTENT, "\n".join([*_HEAD, *counts, ""]).encode())

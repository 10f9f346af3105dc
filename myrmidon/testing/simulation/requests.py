"""What a request is about: verb, kind and object, as faults and oracles see it."""

from functools import lru_cache
from typing import NamedTuple

import orjson

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.requests.routing import route
from myrmidon.apiserver.resources.registry import Registry

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_UNCOUNTED = frozenset({"leases", "events"})
_REVIEWS = frozenset({"selfsubjectaccessreviews", "tokenreviews", "subjectaccessreviews"})


class RequestSubject(NamedTuple):
    """What a request is about.  ``name`` is empty for lists, watches and creates."""

    verb: str
    kind: str
    plural: str
    group: str
    namespace: str
    name: str
    subresource: str
    is_write: bool
    counts: bool  # whether it is one of the writes that are numbered

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        sub = f" {self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.kind} {where}{sub}".rstrip()


class Describer:
    """Describes requests; it knows the kinds of one server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[tuple[str, str, bool], RequestSubject] = {}

    def describe(self, request: HttpRequest) -> RequestSubject:
        """Return what the request is about."""
        is_watch = request.method == "GET" and _is_watch(request.query)
        key = (request.method, request.path, is_watch)
        found = self._known.get(key)
        if found is None:
            found = self._described(request, is_watch)
            if found.kind != found.plural or not found.kind:  # else its definition is absent now
                self._known[key] = found
        return found

    def _described(self, request: HttpRequest, is_watch: bool) -> RequestSubject:
        parts = route(request, {"watch": "true"} if is_watch else {})
        if parts is None:
            return RequestSubject("get", "", "", "", "", request.path, "", False, False)
        known = self._registry.find(parts.group, parts.version, parts.plural)
        kind = known.kind.kind if known is not None else parts.plural
        is_write = parts.verb in _WRITES and parts.plural not in _REVIEWS
        return RequestSubject(
            parts.verb, kind, parts.plural, parts.group, parts.namespace, parts.name,
            parts.subresource, is_write, is_write and parts.plural not in _UNCOUNTED,
        )  # fmt: skip


@lru_cache(maxsize=256)
def _is_watch(query: tuple[tuple[str, str], ...]) -> bool:
    return ("watch", "true") in query or ("watch", "1") in query


def is_dry_run(request: HttpRequest) -> bool:
    """Whether a write asks only what would happen."""
    return any(name == "dryRun" for name, _ in request.query)


def version_in(answered: bytes) -> str:
    """Return the resourceVersion of the object in an answer; empty if there is none."""
    try:
        return str((orjson.loads(answered).get("metadata") or {}).get("resourceVersion", ""))
    except (ValueError, AttributeError):
        return ""


def name_in(subject: RequestSubject, request: HttpRequest, answered: bytes = b"") -> str:
    """Return the name of the object; that of a create is in its body or in the answer to it."""
    if subject.name:
        return subject.name
    return _name_of(answered) or _name_of(request.body)


@lru_cache(maxsize=1024)
def _name_of(body: bytes) -> str:
    """Return the name of the object in a body; kept, because every run of a scenario asks again."""
    try:
        return str((orjson.loads(body).get("metadata") or {}).get("name", "")) if body else ""
    except (ValueError, AttributeError):
        return ""

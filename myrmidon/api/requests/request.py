"""One request to the API server as a value.

A decision returns a ``Request``; a client turns it into an ``HttpRequest`` and sends it.  A plan
can therefore be printed, compared and tested without a server.
"""

from collections.abc import Mapping
from enum import StrEnum
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.paths import new_object_path, object_path
from myrmidon.api.requests.transport import JSON, HttpRequest
from myrmidon.api.values.json_values import NotJsonError, json_value
from myrmidon.errors import OutputError


class Verb(StrEnum):
    """The verb of a request, as RBAC names it."""

    GET = "get"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Patch(StrEnum):
    """The formats of a patch, as media types."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


_METHODS = {
    Verb.GET: "GET",
    Verb.CREATE: "POST",
    Verb.UPDATE: "PUT",
    Verb.PATCH: "PATCH",
    Verb.DELETE: "DELETE",
}
_NAME_OF = itemgetter(0)  # the name of a query parameter


def _headers(**headers: str) -> Mapping[str, str]:
    """Return the headers that many requests share, so they cannot be changed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return MappingProxyType(named)


_WITHOUT_BODY, _WITH_BODY = _headers(accept=JSON), _headers(accept=JSON, content_type=JSON)
_PATCHES = {patch: _headers(accept=JSON, content_type=patch.value) for patch in Patch}


class Request(NamedTuple):
    """One request about one object."""

    verb: Verb
    ref: ObjectRef
    body: Any = None
    subresource: str = ""
    patch: Patch = Patch.MERGE
    query: tuple[tuple[str, str], ...] = ()

    @property
    def is_write(self) -> bool:
        """Whether the request can change anything."""
        return self.verb is not Verb.GET

    @property
    def names_manager(self) -> bool:
        """Whether the query names a field manager."""
        return "fieldManager" in map(_NAME_OF, self.query)

    def to_http(self) -> HttpRequest:
        """Return the request as it is sent; MalformedNameError if it would not name its object."""
        if self.verb is Verb.CREATE and not self.subresource:
            path = new_object_path(self.ref)
        else:
            path = object_path(self.ref, self.subresource)
        method = _METHODS[self.verb]
        if self.body is None:
            return HttpRequest(method, path, self.query, _WITHOUT_BODY)
        headers = _PATCHES[self.patch] if method == "PATCH" else _WITH_BODY
        return HttpRequest(method, path, self.query, headers, self._encoded())

    def _encoded(self) -> bytes:
        """Return the body as bytes; raise ``OutputError`` with the path if it is not JSON."""
        try:
            return orjson.dumps(self.body)
        except TypeError:
            try:
                return orjson.dumps(json_value(self.body))
            except NotJsonError as error:
                raise OutputError(
                    f"{self} cannot be written as JSON: {error}.\n  fix: {error.fix}"
                ) from error

    def __str__(self) -> str:
        target = f"{self.ref}/{self.subresource}" if self.subresource else str(self.ref)
        return f"{self.verb} {target}"

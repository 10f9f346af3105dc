"""Parse the path of a request into a verb, a resource, a namespace, a name and a subresource.

Only the shape of the path is parsed.  The handler looks up the resource later, because
authorization comes first and covers resources that do not exist.
"""

from typing import NamedTuple
from urllib.parse import unquote

from myrmidon.api.requests.transport import HttpRequest

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class Route(NamedTuple):
    """The parts of a resource path.  ``rest`` holds the segments after the subresource."""

    verb: str
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()


def is_true(text: str | None) -> bool:
    """Whether a boolean query parameter is true: any value except ``0`` and ``false``."""
    return text is not None and text.lower() not in {"0", "false"}


def route(request: HttpRequest, query: dict[str, str]) -> Route | None:
    """Return the route of a request, or None if the path does not belong to a resource."""
    parts = request.path.strip("/").split("/")
    if "%" in request.path:
        parts = [unquote(part) for part in parts]
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    verb = _VERBS.get(request.method, "")
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    namespace, rest = _namespace(group, rest)
    name = rest[1] if len(rest) > 1 else ""
    if not name:
        verb = _of_collection(verb, query)
    subresource = rest[2] if len(rest) > 2 else ""
    return Route(verb, group, version, rest[0], namespace, name, subresource, tuple(rest[3:]))


def _namespace(group: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the namespace of a path, and the segments after it.

    The path of a Namespace itself, or of its subresource, has that Namespace as its namespace.
    """
    if rest[0] != "namespaces" or len(rest) == 1:
        return "", rest
    if len(rest) > 3 or (len(rest) == 3 and rest[2] not in _NAMESPACE_SUBRESOURCES):
        return rest[1], rest[2:]
    return ("" if group else rest[1]), rest


def _of_collection(verb: str, query: dict[str, str]) -> str:
    match verb:
        case "get":
            return "watch" if is_true(query.get("watch")) else "list"
        case "delete":
            return "deletecollection"
        case _:
            return verb

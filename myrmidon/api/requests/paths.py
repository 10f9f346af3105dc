"""Build the URL paths of kinds and objects on the API server.  No other module does that.

A path names exactly the object that the caller asked for; otherwise ``MalformedNameError`` is
raised.  This is a safety check: a GET with an empty name would be a list, and a DELETE with an
empty name would delete every object of the kind in the namespace.  A name with a slash would name
a subresource, and ``..`` another object.

The rules are those of Kubernetes for a segment of a path: not empty, not ``.`` or ``..``, without
``/`` and ``%``; and, in addition, no control characters and at most 253 characters.  Most kinds
have stricter rules, which the server checks; roles do not, so names are escaped.  A namespace is a
DNS label.  For cluster-scoped kinds the namespace is ignored, as kubectl does.
"""

import re
from functools import lru_cache
from urllib.parse import quote

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import MalformedNameError

_NAME_MAX = 253
_PLAIN = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9_.~-]{,252}")  # needs neither a check nor escaping
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{,61}[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9-]+")


def object_path(ref: ObjectRef, subresource: str = "") -> str:
    """Return the path of one object, or of one of its subresources."""
    name = ref.name if _PLAIN.fullmatch(ref.name) else _escaped(ref)
    home = collection_path(ref.kind, ref.namespace) if ref.namespace else _home(ref)
    path = f"{home}/{name}"
    if not subresource:
        return path
    if not _WORD.fullmatch(subresource):
        raise MalformedNameError(str(ref), f"{subresource!r} is not the name of a subresource")
    return f"{path}/{subresource}"


def new_object_path(ref: ObjectRef) -> str:
    """Return the path for creating an object, which may have no name yet (``generateName``)."""
    if ref.name and not _PLAIN.fullmatch(ref.name):
        _escaped(ref)  # checks it
    return collection_path(ref.kind, ref.namespace) if ref.namespace else _home(ref)


@lru_cache(maxsize=1024)
def collection_path(kind: Kind, namespace: str = "") -> str:
    """Return the path of a kind's objects: in one namespace, in all (``""``), or of the cluster."""
    for part in (kind.group, kind.version, kind.plural):
        if part and not _PLAIN.fullmatch(part):
            raise MalformedNameError(str(kind), f"{part!r} is not part of the name of a kind")
    if not kind.plural or not kind.version:
        raise MalformedNameError(str(kind), "a kind has a version and a plural")
    if not kind.namespaced or not namespace:
        return f"{kind.root}/{kind.plural}"
    if not _LABEL.fullmatch(namespace):
        raise MalformedNameError(
            f"{kind} in {namespace!r}",
            "a namespace is 1 to 63 lower case letters, digits and hyphens",
        )
    return f"{kind.root}/namespaces/{namespace}/{kind.plural}"


def _home(ref: ObjectRef) -> str:
    """Return the collection path of an object without a namespace; raise if its kind needs one."""
    if ref.kind.namespaced:
        raise MalformedNameError(str(ref), "it has no namespace, but its kind is namespaced")
    return collection_path(ref.kind)


def _escaped(ref: ObjectRef) -> str:
    """Check and escape a name that has other than plain characters."""
    name = ref.name
    if not name:
        raise MalformedNameError(str(ref), "it has no name")
    if name in {".", ".."} or "/" in name or "%" in name:
        raise MalformedNameError(repr(ref.key), "a name is not . or .., and has no / and no %")
    if len(name) > _NAME_MAX:
        raise MalformedNameError(
            f"{ref.kind} {name[:40]}...", f"a name has at most {_NAME_MAX} characters"
        )
    if not name.isprintable():
        raise MalformedNameError(repr(ref.key), "a name has no control characters")
    return quote(name, safe="")

"""Check the metadata of objects when they arrive, and reduce malformed objects to a stub.

The rest of the program relies on the types in ``metadata``: labels are a map of strings, owner
references a list of objects.  A kube-apiserver guarantees that.  An aggregated API server, a proxy
or a bug may break it, and one malformed object would crash the code that reads it.  So each object
is checked once, when it arrives.  A malformed one is kept as an ``Unreadable``: its name,
namespace, uid and version, and what is wrong with it.

Only ``metadata`` is checked, not spec or status.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.io.lists.scanner import Scanner

DEPTH_MAX = 1024
"""How deeply nested an object may be to be readable; a kube-apiserver accepts 10,000 levels."""

NO_METADATA = "it has no metadata"
UID_MAX = 10_000  # characters; a kube-apiserver generates 36
_HEAD = ("name", "namespace", "uid", "resourceVersion")


class Unreadable(NamedTuple):
    """A malformed object: the part of its metadata that identifies it, and what is wrong."""

    obj: Json
    problem: str


def problem_in(obj: Any) -> str:
    """Return what is wrong with the metadata of an object, ``""`` if it is well-formed."""
    if type(obj) is not dict:
        return "it is not a JSON object"
    meta = obj.get("metadata")
    if type(meta) is not dict:
        return NO_METADATA if meta is None else "metadata is not an object"
    name = meta.get("name")
    if not name or type(name) is not str:
        return "metadata.name is not a non-empty string"
    # For every object, so the usual case must be cheap: one comparison in C for all texts.
    if not _USUAL.issuperset(map(type, map(meta.get, _TEXT_FIELDS))):
        for field in _TEXT_FIELDS:
            if meta.get(field) is not None and not _FIELDS[field][0](meta[field]):
                return f"metadata.{field} is not {_FIELDS[field][1]}"
    for field in filter(_OTHER_CHECKS.__contains__, meta):
        if not _OTHER_CHECKS[field](meta[field]) and meta[field] is not None:
            return f"metadata.{field} is not {_FIELDS[field][1]}"
    if len(meta.get("uid") or "") > UID_MAX:
        return f"metadata.uid is longer than {UID_MAX} characters"
    return ""


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_version(value: Any) -> bool:
    return type(value) is str or type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is int


def _is_map(value: Any) -> bool:
    return type(value) is dict and _TEXTS.issuperset(map(type, value.values()))


def _is_owners(value: Any) -> bool:
    return type(value) is list and _OBJECTS.issuperset(map(type, value))


def _is_texts(value: Any) -> bool:
    return type(value) is list and _TEXTS.issuperset(map(type, value))


_TEXTS, _OBJECTS = frozenset({str}), frozenset({dict})
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "namespace": (_is_text, "a string"),
    "resourceVersion": (_is_version, "a string"),
    "uid": (_is_text, "a string"),
    "generation": (_is_number, "an integer"),
    "labels": (_is_map, "a map of strings"),
    "annotations": (_is_map, "a map of strings"),
    "ownerReferences": (_is_owners, "a list of objects"),
    "finalizers": (_is_texts, "a list of strings"),
    "deletionTimestamp": (_is_text, "a string"),
}
_TEXT_FIELDS = tuple(field for field, (is_fit, _) in _FIELDS.items() if is_fit("text"))
_OTHER_CHECKS = {
    field: is_fit for field, (is_fit, _) in _FIELDS.items() if field not in _TEXT_FIELDS
}
_USUAL = frozenset({str, type(None)})


def stub_of(obj: Any) -> Json:
    """Return an object with only name, namespace, uid and resourceVersion, if they are valid."""
    meta = obj.get("metadata") if type(obj) is dict else None
    if type(meta) is not dict:
        return {"metadata": {}}
    head = {field: meta[field] for field in _HEAD if field in meta}
    return {"metadata": {field: value for field, value in head.items() if _is_head(field, value)}}


def _is_head(field: str, value: Any) -> bool:
    if field == "uid" and type(value) is str:
        return len(value) <= UID_MAX
    return type(value) is str if field == "name" else _FIELDS[field][0](value)


def read_object(text: bytes) -> Any:
    """Return the decoded object, of any shape, or an ``Unreadable`` if it cannot be decoded.

    Raises ``BrokenJsonError`` if the brackets of the text do not match.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return Unreadable(_stub_in(text), _reason(error))


def _reason(error: orjson.JSONDecodeError) -> str:
    if "depth" in error.msg or "recursion" in error.msg:
        return f"it is nested deeper than {DEPTH_MAX} levels"
    return f"it is not valid JSON ({error.msg}, at byte {error.pos})"


def _stub_in(text: bytes) -> Json:
    """Return the stub of an object that cannot be decoded as a whole; parts of it often can."""
    scanner, meta = Scanner(text), {}
    if scanner.next_byte() == b"{":
        for key in scanner.members():
            if key == b'"metadata"' and scanner.next_byte() == b"{":
                meta = {
                    _word(key): _word(text[slice(*scanner.skip())]) for key in scanner.members()
                }
    else:
        scanner.skip()
    scanner.expect_end()
    return stub_of({"metadata": meta})


def _word(text: bytes) -> Any:
    """Return a JSON string, None for any other value or a string that cannot be decoded."""
    if not text.startswith(b'"'):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None

"""What an object must look like to be kept, and what is left of one that does not.

The rest of the program reads ``metadata`` without looking twice: labels are a map of strings, owner
references a list of objects.  A kube-apiserver guarantees that; an aggregated API server, a proxy or a
bug does not, and a single object of another shape would end whatever reads it.  So each object is
looked at once, when it arrives.  One that cannot be read is kept as an ``Unreadable``: its name, its
version and what is wrong with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects import Json
from myrmidon.io.scanner import Scanner

DEPTH_MAX = 1024
"""Levels of nesting that are read; a kube-apiserver accepts 10,000."""

NO_METADATA = "it has no metadata"
UID_MAX = 10_000  # characters; a kube-apiserver makes 36
_HEAD = ("name", "namespace", "uid", "resourceVersion")


class Unreadable(NamedTuple):
    """An object that cannot be read: as much of its metadata as can be, and what is wrong."""

    obj: Json
    problem: str


def problem_in(obj: Any) -> str:
    """Say what is wrong with the shape of an object, ``""`` if nothing is."""
    if type(obj) is not dict:
        return "it is not a JSON object"
    meta = obj.get("metadata")
    if type(meta) is not dict:
        return NO_METADATA if meta is None else "metadata is not an object"
    name = meta.get("name")
    if type(name) is not str or not name:
        return "metadata.name is not a name"
    for field, value in meta.items():  # of every object: what is usual must cost next to nothing
        if type(value) is str:
            if field in _NOT_TEXT:
                return f"metadata.{field} is not {_FIELDS[field][1]}"
        elif field in _FIELDS and value is not None and not _FIELDS[field][0](value):
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
_NOT_TEXT = frozenset(field for field, (is_fit, _) in _FIELDS.items() if not is_fit("text"))


def stub_of(obj: Any) -> Json:
    """The fields of an object's metadata that say which object it is, as far as they can be read."""
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
    """Decode one object, whatever its shape; an ``Unreadable`` where it cannot be decoded.

    Raises ``BrokenJsonError`` where not even the brackets of the text are in order.
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
    """The same for a text that cannot be decoded as a whole: its parts often can."""
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
    """A string of JSON, None for any other value and for one that cannot be read."""
    if not text.startswith(b'"'):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None

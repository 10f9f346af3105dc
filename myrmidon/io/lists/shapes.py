"""What an object must look like to be kept, and what is left of one that does not.

The rest of the program reads ``metadata`` without looking twice: labels are a map of strings, owner
references a list of objects.  A kube-apiserver guarantees that; an aggregated API server, a proxy or a
bug does not, and a single object of another shape would end whatever reads it.  So each object is
looked at once, when it arrives.  One that cannot be read is kept as an ``Unreadable``: its name, its
version and what is wrong with it.
"""

from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects import Json
from myrmidon.io.lists.scanner import Scanner

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
    wrong = _wrong_map(meta) or _wrong_list(meta) or _wrong_scalar(meta)
    return f"metadata.{wrong}" if wrong else ""


# Every object passes through these, so they are straight code: a table of checks costs twice the time.


def _wrong_map(meta: Json) -> str:
    value = meta.get("labels")
    if value is not None and not _is_map(value):
        return "labels is not a map of strings"
    value = meta.get("annotations")
    if value is not None and not _is_map(value):
        return "annotations is not a map of strings"
    return ""


def _wrong_list(meta: Json) -> str:
    value = meta.get("ownerReferences")
    if value is not None and not (type(value) is list and _OBJECTS.issuperset(map(type, value))):
        return "ownerReferences is not a list of objects"
    value = meta.get("finalizers")
    if value is not None and not (type(value) is list and _TEXTS.issuperset(map(type, value))):
        return "finalizers is not a list of strings"
    return ""


def _wrong_scalar(meta: Json) -> str:
    if type(meta.get("namespace")) not in _TEXT:
        return "namespace is not a string"
    if type(meta.get("resourceVersion")) not in _VERSION:
        return "resourceVersion is not a string"
    if type(meta.get("generation")) not in _NUMBER:
        return "generation is not an integer"
    if type(meta.get("deletionTimestamp")) not in _TEXT:
        return "deletionTimestamp is not a string"
    uid = meta.get("uid")
    if type(uid) not in _TEXT or (uid and len(uid) > UID_MAX):
        return f"uid is not a string of at most {UID_MAX} characters"
    return ""


def _is_map(value: Any) -> bool:
    return type(value) is dict and _TEXTS.issuperset(map(type, value.values()))


_NONE = type(None)
_TEXT, _NUMBER, _VERSION = (str, _NONE), (int, _NONE), (str, int, _NONE)
_TEXTS, _OBJECTS = frozenset({str}), frozenset({dict})


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
    return type(value) is str or (field == "resourceVersion" and type(value) is int)


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

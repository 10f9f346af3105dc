"""Read and write built-in objects as protobuf, the format of Go's typed clients.

An object is sent in an envelope: the bytes ``k8s`` and zero, then a message with apiVersion, kind
and the encoded object.  ``decode`` reads one, ``encode`` writes one; ``frame`` writes one event of
a watch, which has a length in front instead of a newline behind.

What the messages contain is data: for each message the number, the JSON name and the type of its
fields.  ``tests/cluster/record_protobuf_types.py`` records it from the tags of the Go structs, in
which both the number and the JSON name stand, so that a name cannot differ.  Unknown fields are
skipped, as Go skips them.  Messages that are not objects in JSON (times, quantities, raw JSON, the
unions of JSON schemas) have a reader and a writer of their own, in ``_SPECIAL``.
"""

import gzip
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.timestamps import write_micro_time, write_time
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.times import from_unix, read_time
from myrmidon.apiserver.wire.protobuf_format import (
    EIGHT_BYTES,
    VARINT,
    ProtobufError,
    as_bytes,
    as_double,
    as_int,
    as_text,
    double,
    field,
    fields,
    int_field,
    tag,
    text_field,
    varint,
)

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_DATA = Path(__file__).with_name("protobuf.json.gz")
_META = "apimachinery/pkg/apis/meta/v1"
_SCHEMA = "apiextensions-apiserver/pkg/apis/apiextensions/v1"


class _Table(NamedTuple):
    """``kinds``: the message of ``apiVersion/kind``.  ``messages``: JSON name, type, label by number."""

    kinds: Mapping[str, str]
    messages: Mapping[str, Mapping[str, list[str]]]


@cache
def _table() -> _Table:
    return _Table(**orjson.loads(gzip.decompress(_DATA.read_bytes())))


def is_known(api_version: str, kind: str) -> bool:
    """Whether objects of a kind can be written as protobuf; custom resources and tables cannot."""
    return f"{api_version}/{kind}" in _table().kinds


def decode(body: bytes) -> Json:
    """Return the object in an envelope, as JSON."""
    if not body.startswith(_MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix"
        )
    envelope = dict(fields(body[len(_MAGIC) :]))
    kind = {number: as_text(value) for number, value in fields(as_bytes(envelope.get(1, b"")))}
    api_version, name = kind.get(1, ""), kind.get(2, "")
    message = _table().kinds.get(f"{api_version or 'v1'}/{name}")
    if message is None:
        raise ProtobufError(f'no kind "{name}" is registered for version "{api_version}"')
    obj = _read(message, as_bytes(envelope.get(2, b"")))
    return {"apiVersion": api_version, "kind": name, **obj}


def encode(obj: Json) -> bytes:
    """Return an object in an envelope; its kind must be known.

    Some documents of discovery have no apiVersion; their messages are those of ``v1``.
    """
    api_version, kind = obj.get("apiVersion", ""), obj["kind"]
    content = _write(_table().kinds[f"{api_version or 'v1'}/{kind}"], obj)
    about = text_field(1, api_version) + text_field(2, kind)
    return _MAGIC + field(1, about) + field(2, content) + field(3, b"") + field(4, b"")


def frame(event: Json) -> bytes:
    """Return an event of a watch: its length in four bytes, then the message."""
    message = text_field(1, event["type"]) + field(2, field(1, encode(event["object"])))
    return len(message).to_bytes(4) + message


# --------------------------------------------------------------------------------- reading


def _read(name: str, body: bytes) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special.read(body)
    known = _table().messages[name]
    obj: Json = {}
    for number, value in fields(body):
        found = known.get(str(number))
        if found is not None:  # unknown fields: a newer client may have more
            _put(obj, found, value)
    return obj


def _put(obj: Json, found: list[str], value: int | bytes) -> None:
    name, type_, label = found
    if label == "map":
        entry = dict(fields(as_bytes(value)))
        obj.setdefault(name, {})[as_text(entry.get(1, b""))] = _value(type_, entry.get(2, b""))
    elif label == "repeated":
        obj.setdefault(name, []).append(_value(type_, value))
    elif label == "inline":
        obj.update(_value(type_, value))
    else:
        obj[name] = _value(type_, value)


def _value(type_: str, value: int | bytes) -> Any:
    scalar = _SCALARS.get(type_)
    return scalar.read(value) if scalar is not None else _read(type_, as_bytes(value))


# --------------------------------------------------------------------------------- writing


class _Member(NamedTuple):
    """A field of a message as it is written."""

    tag: bytes
    type: str
    label: str


@cache
def _members(name: str) -> tuple[Mapping[str, _Member], tuple[_Member, ...]]:
    """Return the fields of a message by their JSON names, and those that JSON has no name for."""
    named: dict[str, _Member] = {}
    inline: list[_Member] = []
    for number, (json_name, type_, label) in _table().messages[name].items():
        wire = _SCALARS[type_].wire if type_ in _SCALARS and label != "map" else 2
        member = _Member(tag(int(number), wire), type_, label)
        if label == "inline":
            inline.append(member)
        else:
            named[json_name] = member
    return named, tuple(inline)


def _write(name: str, value: Any) -> bytes:
    special = _SPECIAL.get(name)
    if special is not None:
        return special.write(value)
    named, inline = _members(name)
    parts: list[bytes] = []
    for key, content in value.items():
        member = named.get(key)
        if member is not None and content is not None:
            parts += _member_parts(member, content)
    for member in inline:
        content = _write(member.type, value)
        if content:
            parts += (member.tag, varint(len(content)), content)
    return b"".join(parts)


def _member_parts(member: _Member, value: Any) -> Iterable[bytes]:
    if member.label == "repeated":
        return [member.tag + _prefixed(member.type, item) for item in value]
    if member.label == "map":
        return [
            member.tag + _length_first(text_field(1, key) + _entry_value(member.type, item))
            for key, item in value.items()
        ]
    return (member.tag, _prefixed(member.type, value))


def _entry_value(type_: str, value: Any) -> bytes:
    return tag(2, _SCALARS[type_].wire if type_ in _SCALARS else 2) + _prefixed(type_, value)


def _prefixed(type_: str, value: Any) -> bytes:
    """Return a value as it stands behind its tag."""
    scalar = _SCALARS.get(type_)
    return scalar.write(value) if scalar is not None else _length_first(_write(type_, value))


def _length_first(content: bytes) -> bytes:
    return varint(len(content)) + content


class _Scalar(NamedTuple):
    """How a value that is not a message is read and written."""

    wire: int
    read: Callable[[int | bytes], Any]
    write: Callable[[Any], bytes]


_SCALARS: Mapping[str, _Scalar] = {
    "string": _Scalar(2, as_text, lambda value: _length_first(value.encode())),
    "bytes": _Scalar(
        2,
        lambda value: b64encode(as_bytes(value)).decode(),
        lambda value: _length_first(b64decode(value)),
    ),
    "bool": _Scalar(VARINT, lambda value: bool(as_int(value)), varint),
    "int": _Scalar(VARINT, as_int, varint),
    "double": _Scalar(EIGHT_BYTES, as_double, double),
}

# --------------------------------------------------------- messages that are not objects in JSON


class _Special(NamedTuple):
    """How a message that is not an object in JSON is read and written."""

    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]


def _read_time(body: bytes) -> str | None:
    moment = {number: as_int(value) for number, value in fields(body)}
    return write_time(from_unix(moment.get(1, 0))) if moment else None


def _read_micro_time(body: bytes) -> str | None:
    moment = {number: as_int(value) for number, value in fields(body)}
    if not moment:
        return None
    return write_micro_time(from_unix(moment.get(1, 0), moment.get(2, 0)))


def _write_time(text: str | None) -> bytes:
    if text is None:
        return b""
    moment = read_time(text)
    return int_field(1, moment.seconds) + int_field(2, moment.nanoseconds)


def _read_int_or_string(body: bytes) -> int | str:
    found = dict(fields(body))
    return as_text(found.get(3, b"")) if found.get(1) else as_int(found.get(2, 0))


def _write_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return int_field(1, 1) + int_field(2, 0) + text_field(3, value)
    return int_field(1, 0) + int_field(2, value) + text_field(3, "")


def _read_json(body: bytes) -> Any:
    raw = as_bytes(dict(fields(body)).get(1, b""))
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise ProtobufError(str(error)) from None


def _one_of(*choices: tuple[int, str]) -> _Special:
    """Return the form of a message that stands for one of its fields, the one that is set.

    A choice is a field number and a type; ``bool`` is also set beside another one.
    """

    def read(body: bytes) -> Any:
        found = dict(fields(body))
        lists: list[Any] = []
        for number, type_ in choices:
            if type_.endswith("[]"):
                lists += [_value(type_[:-2], value) for key, value in fields(body) if key == number]
            elif number in found:
                return _value(type_, found[number])
        return lists or None

    def write(value: Any) -> bytes:
        types = {type_: number for number, type_ in choices}
        if isinstance(value, list):
            type_ = next(each for each in types if each.endswith("[]"))
            return b"".join(tag(types[type_]) + _prefixed(type_[:-2], item) for item in value)
        if isinstance(value, bool):
            return int_field(types["bool"], value)
        allows = int_field(types["bool"], value=True) if "bool" in types else b""
        return allows + tag(types[_PROPS]) + _prefixed(_PROPS, value)

    return _Special(read, write)


_PROPS = f"{_SCHEMA}.JSONSchemaProps"
_JSON = _Special(_read_json, lambda value: field(1, go_json.encode(value)))
_ITEMS = _Special(
    lambda body: [as_text(value) for _, value in fields(body)],
    lambda value: b"".join(text_field(1, item) for item in value),
)
_SPECIAL: Mapping[str, _Special] = {
    f"{_META}.Time": _Special(_read_time, _write_time),
    f"{_META}.MicroTime": _Special(_read_micro_time, _write_time),
    f"{_META}.FieldsV1": _JSON,
    f"{_META}.Verbs": _ITEMS,
    "apimachinery/pkg/api/resource.Quantity": _Special(
        lambda body: as_text(dict(fields(body)).get(1, b"")),
        lambda value: text_field(1, str(value)),
    ),
    "apimachinery/pkg/util/intstr.IntOrString": _Special(_read_int_or_string, _write_int_or_string),
    "apimachinery/pkg/runtime.RawExtension": _JSON,
    "api/authentication/v1.ExtraValue": _ITEMS,
    "api/authorization/v1.ExtraValue": _ITEMS,
    "api/certificates/v1.ExtraValue": _ITEMS,
    f"{_SCHEMA}.JSON": _JSON,
    f"{_SCHEMA}.JSONSchemaPropsOrArray": _one_of((1, _PROPS), (2, f"{_PROPS}[]")),
    f"{_SCHEMA}.JSONSchemaPropsOrBool": _one_of((2, _PROPS), (1, "bool")),
    f"{_SCHEMA}.JSONSchemaPropsOrStringArray": _one_of((1, _PROPS), (2, "string[]")),
}

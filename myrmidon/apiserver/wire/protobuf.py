"""Decode protobuf, the format in which kubectl and other Go clients send built-in objects.

Only requests are decoded: responses are JSON, which every client accepts.  The message definitions
are a data file recorded from the sources of Kubernetes.  The wire format is decoded here, because
it is small, and a library would need generated code for each message type.

An object is sent in an envelope: the bytes ``k8s`` and zero, then a message with apiVersion, kind
and the encoded object.  Unknown fields are skipped.  Messages that are not objects in JSON, such as
times, quantities and raw JSON, have their own decoders.
"""

import gzip
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import split_api_version
from myrmidon.api.values.timestamps import write_micro_time, write_time
from myrmidon.apiserver.golang.times import from_unix

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_DATA = Path(__file__).with_name("protobuf.json.gz")
_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_PACKAGES = {
    "apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "k8s.io.kube_aggregator.pkg.apis.apiregistration",
    "rbac.authorization.k8s.io": "k8s.io.api.rbac",
    "internal.apiserver.k8s.io": "k8s.io.api.apiserverinternal",
}


class ProtobufError(ValueError):
    """The bytes are not an encoded object."""


def decode(body: bytes) -> Json:
    """Return the object in an envelope, as JSON."""
    if not body.startswith(_MAGIC):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix"
        )
    envelope = dict(_fields(body[len(_MAGIC) :]))
    kind = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    api_version, name = kind.get(1, ""), kind.get(2, "")
    obj = _message(_message_name(api_version, name), _bytes(envelope.get(2, b"")))
    return {"apiVersion": api_version, "kind": name, **obj}


def _message_name(api_version: str, kind: str) -> str:
    group, version = split_api_version(api_version)
    if kind == "DeleteOptions":
        return f"{_META}.DeleteOptions"
    package = _PACKAGES.get(group) or f"k8s.io.api.{group.partition('.')[0] or 'core'}"
    name = f"{package}.{version}.{kind}"
    if name not in _messages():
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return name


@cache
def _messages() -> Mapping[str, Mapping[str, list[str]]]:
    messages: dict[str, dict[str, list[str]]] = orjson.loads(gzip.decompress(_DATA.read_bytes()))
    return messages


# ------------------------------------------------------------------------------ messages


def _message(name: str, body: bytes) -> Any:
    special = _SPECIAL.get(name)
    if special is not None:
        return special(body)
    known = _messages()[name]
    obj: Json = {}
    for number, value in _fields(body):
        field = known.get(str(number))
        if field is not None:  # unknown fields: a newer client may have more
            _put(obj, field, value)
    return obj


def _put(obj: Json, field: list[str], value: int | bytes) -> None:
    name, type_, label = field
    if label == "map":
        entry = dict(_fields(_bytes(value)))
        obj.setdefault(name, {})[_text(entry.get(1, b""))] = _value(type_, entry.get(2, b""))
    elif label == "repeated":
        obj.setdefault(name, []).append(_value(type_, value))
    elif label == "inline":
        obj.update(_value(type_, value))
    else:
        obj[name] = _value(type_, value)


def _value(type_: str, value: int | bytes) -> Any:
    read = _SCALARS.get(type_)
    return read(value) if read is not None else _message(type_, _bytes(value))


# ---------------------------------------------------------------------------- wire format


def _fields(body: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers and values in order: integers for varints, bytes for everything else."""
    position = 0
    while position < len(body):
        tag, position = _varint(body, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = _varint(body, position)
            yield number, value
            continue
        if kind == 2:
            length, position = _varint(body, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ProtobufError(f"proto: wrong wireType = {kind}")
        if position + length > len(body):
            raise ProtobufError("unexpected EOF")
        yield number, body[position : position + length]
        position += length


def _varint(body: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(body) or shift > 63:
            raise ProtobufError("unexpected EOF")
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType = 0")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError(str(error)) from None


def _signed(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ProtobufError("proto: wrong wireType = 2")
    return value - (1 << 64) if value >= 1 << 63 else value


def _double(value: int | bytes) -> float:
    found: float = struct.unpack("<d", _bytes(value))[0]
    return found


_SCALARS: Mapping[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "bytes": lambda value: b64encode(_bytes(value)).decode(),
    "bool": lambda value: bool(_signed(value)),
    "int32": _signed,
    "int64": _signed,
    "uint32": _signed,
    "uint64": _signed,
    "double": _double,
}

# --------------------------------------------------------- messages that are not objects in JSON


def _numbers(body: bytes) -> dict[int, int]:
    return {number: _signed(value) for number, value in _fields(body)}


def _time(body: bytes) -> str | None:
    moment = _numbers(body)
    if not moment.get(1):
        return None
    return write_time(from_unix(moment[1]))


def _micro_time(body: bytes) -> str | None:
    moment = _numbers(body)
    if not moment.get(1):
        return None
    return write_micro_time(from_unix(moment[1], moment.get(2, 0)))


def _int_or_string(body: bytes) -> int | str:
    found = dict(_fields(body))
    return _text(found.get(3, b"")) if found.get(1) else _signed(found.get(2, 0))


def _only_text(body: bytes) -> str:
    return _text(dict(_fields(body)).get(1, b""))


def _raw_json(body: bytes) -> Any:
    raw = _bytes(dict(_fields(body)).get(1, b""))
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as error:
        raise ProtobufError(str(error)) from None


def _items(body: bytes) -> list[str]:
    return [_text(value) for _, value in _fields(body)]


def _one_of(*readers: tuple[int, str]) -> Callable[[bytes], Any]:
    """Return a decoder for a message that stands for one of its fields, the one that is set."""

    def read(body: bytes) -> Any:
        found = dict(_fields(body))
        lists: list[Any] = []
        for number, type_ in readers:
            if type_.endswith("[]"):
                lists += [
                    _value(type_[:-2], value) for key, value in _fields(body) if key == number
                ]
            elif number in found:
                return _value(type_, found[number])
        return lists or None

    return read


_SCHEMA = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_SPECIAL: Mapping[str, Callable[[bytes], Any]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _raw_json,
    f"{_META}.Verbs": _items,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _only_text,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "k8s.io.api.authentication.v1.ExtraValue": _items,
    "k8s.io.api.authorization.v1.ExtraValue": _items,
    "k8s.io.api.certificates.v1.ExtraValue": _items,
    f"{_SCHEMA}.JSON": _raw_json,
    f"{_SCHEMA}.JSONSchemaPropsOrArray": _one_of(
        (1, f"{_SCHEMA}.JSONSchemaProps"), (2, f"{_SCHEMA}.JSONSchemaProps[]")
    ),
    f"{_SCHEMA}.JSONSchemaPropsOrBool": _one_of((2, f"{_SCHEMA}.JSONSchemaProps"), (1, "bool")),
    f"{_SCHEMA}.JSONSchemaPropsOrStringArray": _one_of(
        (1, f"{_SCHEMA}.JSONSchemaProps"), (2, "string[]")
    ),
}

"""The wire format of protobuf: tags, varints and lengths.  What the fields mean is said elsewhere.

The format is read and written here, because it is small, and a library would need generated code
for each message type.  A message is a sequence of fields; each has a tag (its number and its wire
type), and a varint, eight or four bytes, or a length and as many bytes.
"""

import struct
from collections.abc import Iterator

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5


class ProtobufError(ValueError):
    """The bytes are not an encoded message."""


# --------------------------------------------------------------------------------- reading


def fields(body: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers and values in order: integers for varints, bytes for everything else."""
    position = 0
    while position < len(body):
        tag, position = _read_varint(body, position)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, position = _read_varint(body, position)
            yield number, value
            continue
        if kind == LENGTH:
            length, position = _read_varint(body, position)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ProtobufError(f"proto: wrong wireType = {kind}")
        if position + length > len(body):
            raise ProtobufError("unexpected EOF")
        yield number, body[position : position + length]
        position += length


def _read_varint(body: bytes, position: int) -> tuple[int, int]:
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


def as_bytes(value: int | bytes) -> bytes:
    """Return the value of a field with a length."""
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType = 0")
    return value


def as_text(value: int | bytes) -> str:
    """Return the value of a field with UTF-8 text."""
    try:
        return as_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError(str(error)) from None


def as_int(value: int | bytes) -> int:
    """Return a varint as a signed number of 64 bits."""
    if not isinstance(value, int):
        raise ProtobufError("proto: wrong wireType = 2")
    return value - (1 << 64) if value >= 1 << 63 else value


def as_double(value: int | bytes) -> float:
    """Return the value of a field with a floating-point number."""
    body = as_bytes(value)
    if len(body) != 8:
        raise ProtobufError("unexpected EOF")
    found: float = struct.unpack("<d", body)[0]
    return found


# --------------------------------------------------------------------------------- writing


def varint(value: int) -> bytes:
    """Return a number as a varint; a negative one as 64 bits, as Go writes it."""
    value &= 0xFFFFFFFFFFFFFFFF
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def tag(number: int, kind: int = LENGTH) -> bytes:
    """Return the tag of a field."""
    return varint(number << 3 | kind)


def field(number: int, content: bytes) -> bytes:
    """Return a field with a length: text, bytes or a message."""
    return b"%b%b%b" % (tag(number), varint(len(content)), content)


def text_field(number: int, text: str) -> bytes:
    """Return a field with text."""
    return field(number, text.encode())


def int_field(number: int, value: int) -> bytes:
    """Return a field with a number or a boolean."""
    return tag(number, VARINT) + varint(value)


def double(value: float) -> bytes:
    """Return the eight bytes of a floating-point number."""
    return struct.pack("<d", value)

"""Parse IP addresses, with the error messages of Go."""

from ipaddress import IPv4Address, IPv6Address

from myrmidon.apiserver.golang.text import quote

_HEX = frozenset("0123456789abcdefABCDEF")


class AddressError(ValueError):
    """The string is not an IP address."""


class _BadError(Exception):
    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(problem + (f" (at {quote(where)})" if where else ""))


def parse_address(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """Return the address and its zone; raise ``AddressError``."""
    try:
        return _parse(text)
    except _BadError as bad:
        raise AddressError(f"ParseAddr({quote(text)}): {bad}") from None


def _parse(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    telling = next((char for char in text if char in ".:%"), "")
    if telling == ".":
        return IPv4Address(bytes(_four(text))), ""
    if telling == ":":
        return _six(text)
    raise _BadError("missing IPv6 address" if telling else "unable to parse IP")


def _four(text: str) -> list[int]:
    fields: list[int] = []
    digits = ""
    for at, char in enumerate(text):
        if char == ".":
            if not digits or at == len(text) - 1:
                raise _BadError("IPv4 field must have at least one digit", text[at:])
            if len(fields) == 3:
                raise _BadError("IPv4 address too long")
            fields.append(int(digits))
            digits = ""
        else:
            digits = _digit(digits, char, text[at:])
    if len(fields) < 3:
        raise _BadError("IPv4 address too short")
    return [*fields, int(digits)]


def _digit(digits: str, char: str, rest: str) -> str:
    if not ("0" <= char <= "9"):
        raise _BadError("unexpected character", rest)
    if digits == "0":
        raise _BadError("IPv4 field has octet with leading zero")
    if int(digits + char) > 255:
        raise _BadError("IPv4 field has value >255")
    return digits + char


def _six(text: str) -> tuple[IPv6Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _BadError("zone must be a non-empty string")
    packed, gap = _groups(rest)
    if gap is None:
        if len(packed) < 16:
            raise _BadError("address string too short")
    elif len(packed) == 16:
        raise _BadError("the :: must expand to at least one field of zeros")
    else:
        packed[gap:gap] = bytes(16 - len(packed))
    return IPv6Address(bytes(packed)), zone


def _groups(rest: str) -> tuple[bytearray, int | None]:
    """Return the bytes that are written out, and the index of ``::`` among them or None."""
    packed = bytearray()
    gap: int | None = None
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return packed, gap
    while len(packed) < 16:
        length = _group_length(rest)
        if rest[length : length + 1] == ".":
            packed += _embedded(rest, len(packed), gap)
            rest = ""
            break
        packed += int(rest[:length], 16).to_bytes(2, "big")
        rest = rest[length:]
        if not rest:
            break
        rest, gap = _after_colon(rest, gap, len(packed))
        if not rest:
            break
    if rest:
        raise _BadError("trailing garbage after address", rest)
    return packed, gap


def _group_length(rest: str) -> int:
    length = 0
    while length < len(rest) and rest[length] in _HEX:
        if length > 3:
            raise _BadError("each group must have 4 or less digits", rest)
        length += 1
    if length == 0:
        raise _BadError("each colon-separated field must have at least one digit", rest)
    return length


def _embedded(rest: str, used: int, gap: int | None) -> bytes:
    if gap is None and used != 12:
        raise _BadError(
            "embedded IPv4 address must replace the final 2 fields of the address", rest
        )
    if used + 4 > 16:
        raise _BadError(
            "too many hex fields to fit an embedded IPv4 at the end of the address", rest
        )
    return bytes(_four(rest))


def _after_colon(rest: str, gap: int | None, used: int) -> tuple[str, int | None]:
    if rest[0] != ":":
        raise _BadError("unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _BadError("colon must be followed by more characters", rest)
    rest = rest[1:]
    if rest[0] != ":":
        return rest, gap
    if gap is not None:
        raise _BadError("multiple :: in address", rest)
    return rest[1:], used

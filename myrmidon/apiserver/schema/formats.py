"""The string formats that are enforced.  Formats outside the table are ignored.

The checks accept and refuse the same strings as the libraries of the real server, even where those
deviate from the RFCs.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Callable
from functools import cached_property

from myrmidon.apiserver.golang.durations import is_loose_duration
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.golang.times import is_date, is_date_time

Format = Callable[[str], bool]


class _Pattern:
    """A regular expression that is compiled on first use, because most formats are never used."""

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._text, self._flags = text, flags | re.ASCII

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self._text, self._flags)

    def fits(self, text: str) -> bool:
        """Whether the whole string matches."""
        return self.compiled.fullmatch(text) is not None


_ATOM_LETTERS = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-"
_ATOM = f"[{_ATOM_LETTERS}]++"
_ADDRESS = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\]|\\.)*")@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\]]*\])'
_EMAIL = _Pattern(rf'(?:{_ADDRESS}|(?:[{_ATOM_LETTERS}. ]|"(?:[^"\\]|\\.)*+")*+\s*<{_ADDRESS}>)')
# Applied to the host name after `_reduced` has replaced letters by `l` and symbols by `$`.
_HOSTNAME = _Pattern(
    r"(?:[l0-9$](?:-?[l0-9$]{0,62})?|(?:[l0-9$](?:[l0-9$-]{0,61}[l0-9$])?\.)+l{2,63})"
)
_MAC = _Pattern(
    r"(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}(?:(?:[0-9a-f]{2}\1){2}(?:(?:[0-9a-f]{2}\1){12})?)?[0-9a-f]{2}"
    r"|[0-9a-f]{4}\.(?:[0-9a-f]{4}\.)(?:[0-9a-f]{4}\.)?(?:(?:[0-9a-f]{4}\.){6})?[0-9a-f]{4})",
    re.IGNORECASE,
)
_IPV4 = _Pattern(r"0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})\.0*(\d{1,3})")
_CREDIT_CARD = _Pattern(
    r"(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|(?:2131|1800|35\d{3})\d{11})",
)
_COLOR = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_URI = _Pattern(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?P<rest>.*)", re.DOTALL)
_AUTHORITY = _Pattern(
    r"(?:(?P<user>[^@]*)@)?(?P<host>\[[^\]]*\]|[^\[\]:\s\"<>\\^`{|}]*)(?::(?P<port>\d*))?"
)
_BAD_ESCAPE = _Pattern(r"%(?![0-9A-Fa-f]{2})")
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SHORT_NAME = _Pattern(_LABEL)
_LONG_NAME = _Pattern(rf"{_LABEL}(?:\.{_LABEL})*")
_SHORT_MAX, _LONG_MAX, _HOST_MAX = 63, 253, 255
_SSN_LENGTH = 11


def is_hostname(text: str) -> bool:
    """Whether the string is a host name; letters and symbols of all scripts are allowed."""
    reduced = "".join(map(_reduced, text))
    if not _HOSTNAME.fits(reduced) or len(text.encode()) > _HOST_MAX:
        return False
    return all(len(label.encode()) <= _SHORT_MAX for label in text.split("."))


def _reduced(char: str) -> str:
    category = unicodedata.category(char)[0]
    return {"L": "l", "S": "$"}.get(category, char)


def is_ipv4(text: str) -> bool:
    """Whether the string is an IPv4 address; leading zeros are allowed, as in older Go versions."""
    found = _IPV4.compiled.fullmatch(text)
    if found is not None:
        return all(int(part) <= 0xFF for part in found.groups())
    return "." in text and is_ipv6(text)


def is_ipv6(text: str) -> bool:
    """Whether the string is an IPv6 address without a zone."""
    if "%" in text or ":" not in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def is_cidr(text: str) -> bool:
    """Whether the string is an IP address with a prefix length."""
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()):
        return False
    if _IPV4.fits(address):
        return is_ipv4(address) and read_int(length) <= 32
    return is_ipv6(address) and read_int(length) <= 128


def is_uri(text: str) -> bool:
    """Whether the string is a valid HTTP request target: an absolute URI, a path or ``*``."""
    if not text or any(ord(char) < 0x20 or char == "\x7f" for char in text):
        return False
    found = _URI.compiled.fullmatch(text)
    assert found is not None
    scheme, rest = found["scheme"], found["rest"]
    if text == "*":
        return True
    if not rest.startswith("/"):
        return bool(scheme)
    path = rest
    if scheme and rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
        if not _AUTHORITY.fits(authority.partition("?")[0]):
            return False
    return _BAD_ESCAPE.compiled.search(path.partition("?")[0]) is None


def is_isbn10(text: str) -> bool:
    """Whether the string is an ISBN-10 with a valid check digit."""
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{9}X|[0-9]{10}", digits) is None:
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(weight * value for weight, value in enumerate(values, 1)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """Whether the string is an ISBN-13 with a valid check digit."""
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{13}", digits) is None:
        return False
    return sum((3 if index % 2 else 1) * int(digit) for index, digit in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    """Whether the digits in the string are a card number with a valid check digit."""
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CREDIT_CARD.fits(digits):
        return False
    doubled = (int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits)))
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def is_short_name(text: str) -> bool:
    """Whether the string is a Kubernetes name without dots (DNS-1123 label)."""
    return len(text) <= _SHORT_MAX and _SHORT_NAME.fits(text)


def is_long_name(text: str) -> bool:
    """Whether the string is a Kubernetes name that may have dots (DNS-1123 subdomain)."""
    return len(text) <= _LONG_MAX and _LONG_NAME.fits(text)


def _uuid(third: str, fourth: str) -> Format:
    return _Pattern(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}",
        re.IGNORECASE,
    ).fits


_HEX4, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_SSN = _Pattern(r"\d{3}[- ]?\d{2}[- ]?\d{4}")

# Format names are looked up without dashes: `date-time` is `datetime`.
STRING_FORMATS: dict[str, Format] = {
    "bsonobjectid": _Pattern(r"[0-9a-fA-F]{24}").fits,
    "uri": is_uri,
    "email": lambda text: _EMAIL.fits(text.strip()),
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": _MAC.fits,
    "uuid": _uuid(_HEX4, _HEX4),
    "uuid3": _uuid("3[0-9a-f]{3}", _HEX4),
    "uuid4": _uuid("4[0-9a-f]{3}", _VARIANT),
    "uuid5": _uuid("5[0-9a-f]{3}", _VARIANT),
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "creditcard": is_credit_card,
    "ssn": lambda text: len(text) == _SSN_LENGTH and _SSN.fits(text),
    "hexcolor": _Pattern(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})").fits,
    "rgbcolor": _Pattern(rf"rgb\({_COLOR},{_COLOR},{_COLOR}\)").fits,
    "byte": _Pattern(
        r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
    ).fits,
    "password": lambda _: True,
    "date": is_date,
    "duration": is_loose_duration,
    "datetime": is_date_time,
    "k8sshortname": is_short_name,
    "k8slongname": is_long_name,
}
NUMBER_FORMATS: dict[str, tuple[str, ...]] = {
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}


def is_recognized(name: str, type_name: str) -> bool:
    """Whether the format is known and applies to values of a type."""
    if type_name in ("", "string"):
        return name.replace("-", "") in STRING_FORMATS
    return name in NUMBER_FORMATS.get(type_name, ())


def string_format(name: str) -> Format | None:
    """Return the check of a format, None if the format is not enforced."""
    return STRING_FORMATS.get(name.replace("-", ""))

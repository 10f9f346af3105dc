"""IP addresses and CIDRs: ``cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))``."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from myrmidon.apiserver.cel.declarations import function, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.functions.addresses import AddressError, parse_address
from myrmidon.apiserver.cel.values import NO_OVERLOAD, Opaque
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.golang.text import quote

_PREFIX = "network address parse error during conversion from string: "
_BITS = re.compile(r"0|[1-9][0-9]*")


class IP(Opaque):
    """An IP address."""

    __slots__ = ("address",)
    type_name = "net.IP"

    def __init__(self, address: IPv4Address | IPv6Address) -> None:
        self.address = address

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.address == other.address)


class CIDR(Opaque):
    """A network.  It keeps the address that it was written with, including the host bits."""

    __slots__ = ("address", "bits")
    type_name = "net.CIDR"

    def __init__(self, address: IPv4Address | IPv6Address, bits: int) -> None:
        self.address, self.bits = address, bits

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.address == other.address and self.bits == other.bits)

    def base(self) -> IPv4Address | IPv6Address:
        """Return the address with all host bits set to zero."""
        return _masked(self.address, self.bits)

    def contains(self, address: IPv4Address | IPv6Address) -> bool:
        """Whether the address is in the network."""
        return (
            address.version == self.address.version and _masked(address, self.bits) == self.base()
        )


def _masked(address: IPv4Address | IPv6Address, bits: int) -> IPv4Address | IPv6Address:
    free = address.max_prefixlen - bits
    return type(address)(int(address) >> free << free)


def _read_ip(text: str) -> IP:
    try:
        address, zone = parse_address(text)
    except AddressError as error:
        raise CelEvaluationError(
            f"IP Address {quote(text)} parse error during conversion from string: {error}"
        ) from None
    if zone:
        raise CelEvaluationError(f"IP address {quote(text)} with zone value is not allowed")
    _refuse_mapped(address, text)
    return IP(address)


def _refuse_mapped(address: IPv4Address | IPv6Address, text: str) -> None:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelEvaluationError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")


def _read_cidr(text: str) -> CIDR:
    bad = f"{_PREFIX}{_PREFIX}netip.ParsePrefix({quote(text)}): "
    host, slash, bits = text.rpartition("/")
    if not slash:
        raise CelEvaluationError(f"{bad}no '/'")
    try:
        address, zone = parse_address(host)
    except AddressError as error:
        raise CelEvaluationError(f"{bad}{error}") from None
    if zone:
        raise CelEvaluationError(f"{bad}IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise CelEvaluationError(f"{bad}bad bits after slash: {quote(bits)}")
    if read_int(bits) > address.max_prefixlen:
        raise CelEvaluationError(f"{bad}prefix length out of range")
    try:
        _refuse_mapped(address, text)
    except CelEvaluationError as error:
        raise CelEvaluationError(f"{_PREFIX}{error}") from None
    return CIDR(address, int(bits))


def _is_ip(text: str) -> bool:
    try:
        _read_ip(text)
    except CelEvaluationError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _read_cidr(text)
    except CelEvaluationError:
        return False
    return True


def _contains_text(cidr: CIDR, text: str) -> bool:
    if not _is_ip(text):
        # The real library passes its own error on as an argument, which has no overload.
        raise CelEvaluationError(NO_OVERLOAD)
    return cidr.contains(_read_ip(text).address)


def _contains_cidr(outer: CIDR, inner: CIDR) -> bool:
    return outer.bits <= inner.bits and outer.contains(inner.address)


def _link_local_multicast(ip: IP) -> bool:
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def _link_local_unicast(ip: IP) -> bool:
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:2] == b"\xa9\xfe"
    return packed[0] == 0xFE and packed[1] & 0xC0 == 0x80


def _global_unicast(ip: IP) -> bool:
    address = ip.address
    special = (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or _link_local_unicast(ip)
    )
    return not special and address.packed != b"\xff\xff\xff\xff"


def _text_of(cidr: CIDR) -> str:
    return f"{cidr.address}/{cidr.bits}"


IP_OVERLOADS = (
    function("string_to_ip", "ip(string) -> net.IP", _read_ip),
    method("ip_family", "family(net.IP) -> int", lambda ip: ip.address.version),
    function(
        "ip_is_canonical",
        "ip.isCanonical(string) -> bool",
        lambda text: str(_read_ip(text).address) == text,
    ),
    method(
        "ip_is_unspecified", "isUnspecified(net.IP) -> bool", lambda ip: ip.address.is_unspecified
    ),
    method("ip_is_loopback", "isLoopback(net.IP) -> bool", lambda ip: ip.address.is_loopback),
    method(
        "ip_is_link_local_multicast",
        "isLinkLocalMulticast(net.IP) -> bool",
        _link_local_multicast,
    ),
    method("ip_is_link_local_unicast", "isLinkLocalUnicast(net.IP) -> bool", _link_local_unicast),
    method("ip_is_global_unicast", "isGlobalUnicast(net.IP) -> bool", _global_unicast),
    function("is_ip", "isIP(string) -> bool", _is_ip),
    function("ip_to_string", "string(net.IP) -> string", lambda ip: str(ip.address)),
)
CIDR_OVERLOADS = (
    function("string_to_cidr", "cidr(string) -> net.CIDR", _read_cidr),
    method(
        "cidr_contains_ip_string",
        "containsIP(net.CIDR, string) -> bool",
        _contains_text,
    ),
    method(
        "cidr_contains_ip_ip",
        "containsIP(net.CIDR, net.IP) -> bool",
        lambda cidr, ip: cidr.contains(ip.address),
    ),
    method(
        "cidr_contains_cidr_string",
        "containsCIDR(net.CIDR, string) -> bool",
        lambda cidr, text: _contains_cidr(cidr, _read_cidr(text)),
    ),
    method("cidr_contains_cidr", "containsCIDR(net.CIDR, net.CIDR) -> bool", _contains_cidr),
    method("cidr_ip", "ip(net.CIDR) -> net.IP", lambda cidr: IP(cidr.address)),
    method("cidr_prefix_length", "prefixLength(net.CIDR) -> int", lambda cidr: cidr.bits),
    method(
        "cidr_masked",
        "masked(net.CIDR) -> net.CIDR",
        lambda cidr: CIDR(cidr.base(), cidr.bits),
    ),
    function("is_cidr", "isCIDR(string) -> bool", _is_cidr),
    function("cidr_to_string", "string(net.CIDR) -> string", _text_of),
)

"""The estimated costs of calls: standard functions of CEL and those of the Kubernetes library.

The formulas, including their overflows, are those of the real server.  ``cost`` uses them with the
sizes that a schema allows, ``metering`` with the sizes of actual values.
"""

import math
from collections.abc import Callable

from myrmidon.apiserver.cel.ast import Literal
from myrmidon.apiserver.cel.sizes import (
    MOST,
    NEW_LIST,
    ONE,
    PATTERN,
    TRAVERSAL,
    UNKNOWN,
    Estimate,
    Size,
    SizeAt,
    SizeNode,
    capped,
    scaled,
)

Own = Callable[[SizeAt, str, SizeNode | None, list[SizeNode]], Estimate | None]

_PLAIN = Estimate(1)
_LONGEST_FORMAT, _FORMAT_PATTERN = 64, 128
_ADDRESS = Size(4, 16)


def call_estimate(
    size_at: SizeAt, name: str, overload: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate:
    """Return the estimate for one overload, without the cost of its arguments."""
    for table, key in ((_OVERLOADS, overload), (_FUNCTIONS, name), (_STANDARD, overload)):
        own = table.get(key)
        estimate = own(size_at, overload, target, args) if own else None
        if estimate is not None:
            return estimate
    return _PLAIN


def is_plain(name: str, overload: str) -> bool:
    """Whether the call always costs one, whatever its arguments are."""
    return overload not in _OVERLOADS and name not in _FUNCTIONS and overload not in _STANDARD


def _size(at: SizeAt, node: SizeNode) -> Size:
    return node.size or at(node.path) or UNKNOWN


def _computed(node: SizeNode) -> Size:
    return node.size or UNKNOWN


# ------------------------------------------------------------ standard functions


def _text_to_bytes(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    size = _computed(args[0])
    # The multiplication overflows in the real estimator, too.
    return Estimate(scaled(size.high, TRAVERSAL), Size(size.low, size.high * 4 % 2**64))


def _bytes_to_text(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    size = _computed(args[0])
    return Estimate(scaled(size.high, TRAVERSAL), Size(size.low // 4, size.high))


def _quote(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    size = _computed(args[0])
    quoted = Size((size.low + 2) % 2**64, (size.high * 2 + 2) % 2**64)
    return Estimate(scaled(size.high, TRAVERSAL), quoted)


def _formatted(
    _at: SizeAt, _o: str, target: SizeNode | None, _a: list[SizeNode]
) -> Estimate | None:
    return Estimate(scaled(_computed(target).high, TRAVERSAL)) if target else None


def _affix(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    return Estimate(scaled(_computed(args[0]).high, TRAVERSAL))


def _in_list(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    return Estimate(scaled(_computed(args[1]).high, 1.0))


def _matched(
    _at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    if target is None:
        return None
    text = scaled(_computed(target).plus(ONE).high, TRAVERSAL)
    return Estimate(capped(text * scaled(_computed(args[0]).high, PATTERN)))


def _contained(
    _at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    if target is None:
        return None
    text = scaled(_computed(target).high, TRAVERSAL)
    return Estimate(capped(text * scaled(_computed(args[0]).high, TRAVERSAL)))


def _joined(_at: SizeAt, overload: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    size = _computed(args[0]).plus(_computed(args[1]))
    return Estimate(1 if overload == "add_list" else scaled(size.high, TRAVERSAL), size)


def _compared(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    smaller = min(_computed(args[0]).high, _computed(args[1]).high)
    return Estimate(scaled(smaller, TRAVERSAL))


_STANDARD: dict[str, Own] = {
    **{
        f"{relation}{equals}_{kind}": _compared
        for relation in ("less", "greater")
        for equals in ("", "_equals")
        for kind in ("string", "bytes")
    },
    "string_format": _formatted,
    "string_to_bytes": _text_to_bytes,
    "bytes_to_string": _bytes_to_text,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches_string": _matched,
    "contains_string": _contained,
    "add_string": _joined,
    "add_bytes": _joined,
    "add_list": _joined,
    "equals": _compared,
    "not_equals": _compared,
}

# ------------------------------------------------------------ the Kubernetes library


def _element(target: SizeNode) -> SizeNode | None:
    """Return a node for the elements of a list, None if the type has no parameter."""
    if not target.type.params:
        return None
    path = (*target.path, "@items") if target.path else ()
    return SizeNode(target.type.params[0], path, None)


def _traversed(at: SizeAt, _o: str, target: SizeNode | None, _a: list[SizeNode]) -> Estimate | None:
    if target is None:
        return None
    size = _size(at, target)
    element = _element(target)
    if element is None:
        return Estimate(scaled(size.high, TRAVERSAL))
    each = 1
    if element.type.kind in ("string", "bytes"):
        each += scaled(_size(at, element).high, TRAVERSAL)
    return Estimate(capped(size.high * capped(each)))


def _read(at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
    return Estimate(scaled(_size(at, args[0]).high, TRAVERSAL)) if args else None


def _url(at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    size = _size(at, args[0])
    return Estimate(scaled(size.high, TRAVERSAL), size)


def _read_twice(at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    return Estimate(scaled(_size(at, args[0]).high, 2 * TRAVERSAL))


def _same_size(at: SizeAt, _o: str, target: SizeNode | None, _a: list[SizeNode]) -> Estimate | None:
    if target is None:
        return None
    size = _size(at, target)
    return Estimate(scaled(size.high, TRAVERSAL), size)


def _replaced(
    at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    if target is None:
        return None
    size, old, new = _size(at, target), _size(at, args[0]), _size(at, args[1])
    result = Size(_shortest(size, old, new), _longest(size, old, new))
    return Estimate(scaled(size.high, 2 * TRAVERSAL), result)


def _longest(size: Size, old: Size, new: Size) -> int:
    if old.low == 0:
        return capped(capped(min(size.high + 1, MOST) * new.high) + size.high)
    if new.high <= old.low:
        return size.high
    return capped(min(math.ceil(size.high / old.low), MOST) * new.high)


def _shortest(size: Size, old: Size, new: Size) -> int:
    if old.high == 0:
        return capped(capped(min(size.low + 1, MOST) * new.low) + size.low)
    if old.high <= new.low:
        return size.low
    return capped(math.ceil(size.low / old.high) * new.low)


def _split(at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
    if target is None:
        return None
    size = _size(at, target)
    most = size.high
    if len(args) > 1 and isinstance(args[1].expr, Literal) and args[1].expr.kind == "int":
        assert isinstance(args[1].expr.value, int)
        most = args[1].expr.value % 2**64
    return Estimate(scaled(size.high, 2 * TRAVERSAL), Size(0, most))


def _concatenated(
    at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    if target is None:
        return None
    items = _size(at, target)
    element = _element(target)
    size = items.times(_size(at, element)) if element else Size(0, 0)
    if args:
        between = Size(max(items.low - 1, 0), max(items.high - 1, 0))
        size = size.plus(_size(at, args[0]).times(between))
    return Estimate(scaled(size.high, TRAVERSAL), size)


def _found(at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
    if target is None:
        return None
    size = _size(at, target)
    text = scaled(size.plus(ONE).high, TRAVERSAL)
    pattern = scaled(_size(at, args[0]).high, PATTERN)
    return Estimate(capped(text * pattern), Size(0, size.high))


def _ip(
    at: SizeAt, overload: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    return _PLAIN if overload == "cidr_ip" else _read(at, overload, target, args)


def _contains(at: SizeAt, overload: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    cost = scaled(_ADDRESS.plus(_ADDRESS).high, TRAVERSAL)
    if overload.startswith("cidr_contains_cidr"):
        cost += scaled(_ADDRESS.high, TRAVERSAL) + 1
    if overload.endswith("_string"):
        cost += scaled(_size(at, args[0]).high, TRAVERSAL)
    return Estimate(capped(cost))


def _validated(at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    text = scaled(_size(at, args[0]).high, TRAVERSAL)
    return Estimate(scaled(text, _FORMAT_PATTERN * PATTERN))


def _plain(_at: SizeAt, _o: str, _t: SizeNode | None, _a: list[SizeNode]) -> Estimate:
    return _PLAIN


def _equal(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
    first, second = args
    if first.type != second.type:
        return None
    match first.type.name:
        case "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver":
            return _PLAIN
        case "kubernetes.NamedFormat":
            return Estimate(scaled(_LONGEST_FORMAT, TRAVERSAL))
        case "kubernetes.URL":
            return Estimate(scaled((second.size or ONE).high, TRAVERSAL))
        case _:
            return None


_CHEAP = (
    *("masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast"),
    *("isLinkLocalUnicast", "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger"),
    *("asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub"),
    *("major", "minor", "patch", "getScheme", "getHostname", "getHost", "getPort"),
    *("getEscapedPath", "getQuery"),
)
_FUNCTIONS: dict[str, Own] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversed),
    "url": _url,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    "replace": _replaced,
    "split": _split,
    "join": _concatenated,
    **dict.fromkeys(("find", "findAll"), _found),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _read),
    "ip": _ip,
    "ip.isCanonical": _read_twice,
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _read),
    "validate": _validated,
    **dict.fromkeys(_CHEAP, _plain),
    "_==_": _equal,
}

# ------------------------------------------------------------ lists and sets


def _integer(node: SizeNode, otherwise: int) -> int:
    if isinstance(node.expr, Literal) and node.expr.kind == "int":
        assert isinstance(node.expr.value, int)
        return max(node.expr.value, 0)
    return otherwise


def _new_list(factor: float, size: Size) -> Estimate:
    return Estimate(capped(scaled(size.high, factor) + 1 + NEW_LIST), size)


def _sliced(at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
    if target is None:
        return None
    end = _integer(args[1], _size(at, target).high)
    length = (end - _integer(args[0], 0)) % 2**64
    return _new_list(1, Size(length, length))


def _range(_at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
    length = _integer(args[0], MOST)
    return _new_list(1, Size(length, length))


def _reversed(at: SizeAt, _o: str, target: SizeNode | None, _a: list[SizeNode]) -> Estimate | None:
    return _new_list(1, _size(at, target)) if target else None


def _flattened(
    at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]
) -> Estimate | None:
    depth = _integer(args[0], MOST) if args else 1
    return _new_list(float(depth), _size(at, target)) if target else None


def _self_compared(factor: float, *, by_keys: bool = False) -> Own:
    def own(at: SizeAt, _o: str, target: SizeNode | None, args: list[SizeNode]) -> Estimate | None:
        if target is None:
            return None
        size = _size(at, args[0] if by_keys else target)
        return _new_list(factor, size.times(size))

    return own


def _sets(factor: float) -> Own:
    def own(at: SizeAt, _o: str, _t: SizeNode | None, args: list[SizeNode]) -> Estimate:
        size = _size(at, args[0]).times(_size(at, args[1]))
        return Estimate(capped(scaled(size.high, factor) + 1))

    return own


_SORTED = ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp")

_OVERLOADS: dict[str, Own] = {
    "list_slice": _sliced,
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "lists_range": _range,
    "list_reverse": _reversed,
    "list_distinct": _self_compared(2),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **{f"list_{name}_sort": _self_compared(2) for name in _SORTED},
    **{f"list_{name}_sort": _self_compared(2 + TRAVERSAL) for name in ("string", "bytes")},
    **{f"list_{n}_sortByAssociatedKeys": _self_compared(2, by_keys=True) for n in _SORTED},
    **{
        f"list_{n}_sortByAssociatedKeys": _self_compared(2 + TRAVERSAL, by_keys=True)
        for n in ("string", "bytes")
    },
}

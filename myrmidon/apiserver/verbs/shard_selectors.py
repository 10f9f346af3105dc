"""Parse the parameter ``shardSelector`` as kube-apiserver 1.36 does (KEP-5866), with its errors.

The text is an expression in CEL that is parsed and never run: ``shardRange(field, start, end)``, or
several of these joined by ``||``.  The real server answers a text that it refuses with a 500.

A server without the feature gate ShardedListAndWatch ignores the parameter, whatever it says.
"""

from typing import NoReturn

from myrmidon.api.requests.shard_selectors import ShardField, ShardRange
from myrmidon.apiserver.cel import ast
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.refusals.failures import internal
from myrmidon.apiserver.requests.call import Call

FEATURE_GATE = "ShardedListAndWatch"
_DIGITS, _DIGITS_OF_END = 16, 17
_END = "0x10000000000000000"
_FIELDS: dict[str, ShardField] = {
    "object.metadata.uid": "uid",
    "object.metadata.namespace": "namespace",
}
_KINDS: dict[type[object], int] = {
    ast.CallExpr: 1,
    ast.Ident: 3,
    ast.ListExpr: 4,
    ast.Literal: 5,
    ast.MapExpr: 6,
    ast.Select: 7,
    ast.StructExpr: 8,
}  # as Go numbers the kinds of an expression
_GO_TYPES: dict[str, str] = {
    "null": "structpb.NullValue",
    "bool": "bool",
    "int": "int64",
    "uint": "uint64",
    "double": "float64",
    "bytes": "[]uint8",
}


def read_shards(call: Call) -> tuple[ShardRange, ...]:
    """Return the shard ranges of the query; () without any, raise a 500 if they are malformed."""
    text = call.query.get("shardSelector", "")
    if not text or FEATURE_GATE not in call.core.feature_gates:
        return ()
    text = text.strip()
    if not text:
        _refuse("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    from myrmidon.apiserver.cel.parser import parse  # noqa: PLC0415 - few servers need it

    tree, issues = parse(text)
    if tree is None or issues:
        _refuse(f"CEL parse error: {issues[0].message}")
    ranges = _ranges(tree)
    for found in ranges[1:]:
        if found.field != ranges[0].field:
            fields = (f'"object.metadata.{one.field}"' for one in (ranges[0], found))
            _refuse(f"all shard ranges must use the same field, got {' and '.join(fields)}")
    return tuple(ranges)


def _refuse(problem: str) -> NoReturn:
    raise internal(f"invalid shard selector: {problem}")


def _kind(expr: ast.Expr) -> str:
    return f"expression kind {_KINDS[type(expr)]}"


def _ranges(expr: ast.Expr) -> list[ShardRange]:
    match expr:
        case ast.CallExpr(function=ast.OR, args=args):
            return [found for part in args for found in _ranges(part)]
        case ast.CallExpr(function="shardRange", args=args):
            return [_range(args)]
        case ast.CallExpr(function=function):
            _refuse(f"unsupported function {quote(function)}; only shardRange() and || are allowed")
        case _:
            _refuse(f"unexpected {_kind(expr)}; expected shardRange() call or || operator")


def _range(args: tuple[ast.Expr, ...]) -> ShardRange:
    if len(args) != 3:
        _refuse(f"shardRange() requires exactly 3 arguments, got {len(args)}")
    path = _path(args[0])
    if path not in _FIELDS:
        _refuse(f"unsupported field path {quote(path)}; supported: {', '.join(_FIELDS)}")
    start, end = _bound(args[1], "hexStart"), _bound(args[2], "hexEnd")
    if int(start, 16) >= int(end, 16):
        _refuse(f"shard range start {start} must be less than end {end}")
    return ShardRange(_FIELDS[path], int(start, 16), int(end, 16))


def _path(expr: ast.Expr) -> str:
    match expr:
        case ast.Ident(name=name):
            return name
        case ast.Select(operand=operand, field=field):
            return f"{_path(operand)}.{field}"
        case _:
            _refuse(
                "shardRange() first argument: expected field path (e.g. object.metadata.uid), "
                f"got {_kind(expr)}"
            )


def _bound(expr: ast.Expr, name: str) -> str:
    """Return a bound as it is written, ``0x`` and 16 digits, or the end of the hash space."""
    if not isinstance(expr, ast.Literal):
        _refuse(f"{name} must be a string literal (e.g. '0xff'), got {_kind(expr)}")
    text = expr.value
    if not isinstance(text, str):
        _refuse(f"{name} must be a string literal, got {_GO_TYPES[expr.kind]}")
    if not text.startswith("0x"):
        _refuse(f"{name} must have '0x' prefix, got {quote(text)}")
    _check_digits(text, name)
    return text


def _check_digits(text: str, name: str) -> None:
    digits = text[2:]
    length = len(digits.encode())
    if not digits:
        _refuse(f"{name}: hex value is required after '0x'")
    if length > _DIGITS_OF_END:
        _refuse(
            f"{name}: hex value too long ({length} chars, max {_DIGITS_OF_END}): {quote(digits)}"
        )
    for digit in digits:
        if digit not in "0123456789abcdef":
            _refuse(f"{name}: invalid hex character {quote(digit)} in {quote(text)}")
    if length == _DIGITS_OF_END and text != _END:
        _refuse(f"{name}: 17-digit hex value must be '{_END}' (2^64), got {quote(text)}")
    if length < _DIGITS:
        padded = quote(f"0x{digits:0>{_DIGITS}}")
        _refuse(
            f"{name} must be a 0x-prefixed 16-digit hex value, got {quote(text)} "
            f"(did you mean {padded}?)"
        )

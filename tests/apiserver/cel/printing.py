"""Prints a CEL tree as text that parses to the same tree.

Only trees from the parser can be printed: folds that came from macros have no text of their own.
Every compound expression is put into parentheses.
"""

import math

from myrmidon.apiserver.cel.ast import (
    AND,
    BINARY,
    CONDITIONAL,
    INDEX,
    NEGATE,
    NOT,
    OPT_INDEX,
    OPT_SELECT,
    OR,
    CallExpr,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)

_SYMBOLS = {function: symbol for symbol, function in BINARY.items()} | {AND: "&&", OR: "||"}


def print_expr(expr: Expr) -> str:
    """Return the text of a tree."""
    match expr:
        case Literal():
            return _literal(expr)
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, test=test):
            text = f"{_operand(operand)}.{field}"
            return f"has({text})" if test else text
        case CallExpr():
            return _call(expr)
        case ListExpr(elements=elements, optional=optional):
            marked = (
                ("?" if at in optional else "") + print_expr(e) for at, e in enumerate(elements)
            )
            return "[" + ", ".join(marked) + "]"
        case MapExpr(entries=entries):
            pairs = (
                f"{'?' if e.optional else ''}{print_expr(e.key)}: {print_expr(e.value)}"
                for e in entries
            )
            return "{" + ", ".join(pairs) + "}"
        case StructExpr(name=name, fields=fields):
            inner = ", ".join(f"{field}: {print_expr(value)}" for field, value in fields)
            return f"{name}{{{inner}}}"
        case Comprehension():
            raise ValueError("a fold has no text of its own")


def _operand(expr: Expr) -> str:
    text = print_expr(expr)
    plain = isinstance(expr, Ident | ListExpr | Select) or (
        isinstance(expr, Literal) and expr.kind in ("string", "bytes", "bool", "null")
    )
    return text if plain else f"({text})"


def _call(call: CallExpr) -> str:
    args = [print_expr(arg) for arg in call.args]
    if call.target is not None:
        return f"{_operand(call.target)}.{call.function}({', '.join(args)})"
    match call.function:
        case function if function in _SYMBOLS:
            return f" {_SYMBOLS[function]} ".join(f"({arg})" for arg in args)
        case function if function == NOT:
            return f"!({args[0]})"
        case function if function == NEGATE:
            return f"-({args[0]})"
        case function if function == CONDITIONAL:
            return f"({args[0]}) ? ({args[1]}) : ({args[2]})"
        case function if function in (INDEX, OPT_INDEX):
            mark = "?" if function == OPT_INDEX else ""
            return f"({args[0]})[{mark}{args[1]}]"
        case function if function == OPT_SELECT:
            field = call.args[1]
            assert isinstance(field, Literal)
            return f"({args[0]}).?{field.value!s}"
        case function:
            return f"{function}({', '.join(args)})"


def _literal(literal: Literal) -> str:
    match literal.value:
        case None:
            return "null"
        case bool(value):
            return "true" if value else "false"
        case float(value):
            assert math.isfinite(value), "the language has no way to write it"
            text = repr(value)
            return text if any(mark in text for mark in ".e") else f"{text}.0"
        case int(value):
            return f"{value}u" if literal.kind == "uint" else str(value)
        case str(text):
            return '"' + "".join(_escaped(char) for char in text) + '"'
        case bytes(data):
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else f"\\U{ord(char):08x}"

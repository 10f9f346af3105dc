"""Laws of CEL that hold for all inputs."""

import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.values.cel_names import escape
from myrmidon.api.values.quantities import parse_quantity
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
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)
from myrmidon.apiserver.cel.errors import CelCompileError, CelEvaluationError
from myrmidon.apiserver.cel.escaping import unescape
from myrmidon.apiserver.cel.functions.conversions import format_double
from myrmidon.apiserver.cel.parser import parse
from myrmidon.apiserver.cel.program import compile_expression, compile_rule
from myrmidon.apiserver.cel.times import parse_duration, parse_timestamp, print_timestamp
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern
from myrmidon.apiserver.schema_node import Schema
from tests.apiserver.cel.printing import print_expr
from tests.apiserver.cel.recordings import schema_of

NAMES = st.sampled_from(["a", "b", "self", "size", "x1", "_y"])
LITERALS = st.one_of(
    st.just(Literal("null", None)),
    st.booleans().map(lambda value: Literal("bool", value)),
    st.integers(-(2**63), 2**63 - 1).map(lambda value: Literal("int", value)),
    st.integers(0, 2**64 - 1).map(lambda value: Literal("uint", value)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda v: Literal("double", v)),
    st.text(st.characters(exclude_categories=["Cs"])).map(lambda v: Literal("string", v)),
    st.binary().map(lambda value: Literal("bytes", value)),
)


def compounds(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Draw expressions made of others."""
    calls = st.one_of(
        st.builds(
            lambda f, a, b: CallExpr(f, (a, b)), st.sampled_from([*BINARY.values()]), inner, inner
        ),
        st.builds(
            lambda f, terms: CallExpr(f, tuple(terms)),
            st.sampled_from([AND, OR]),
            st.lists(inner, min_size=2, max_size=4),
        ),
        st.builds(lambda a: CallExpr(NOT, (a,)), inner),
        st.builds(lambda a: CallExpr(NEGATE, (a,)), inner),
        st.builds(lambda a, b, c: CallExpr(CONDITIONAL, (a, b, c)), inner, inner, inner),
        st.builds(
            lambda f, a, b: CallExpr(f, (a, b)), st.sampled_from([INDEX, OPT_INDEX]), inner, inner
        ),
        st.builds(lambda a, n: CallExpr(OPT_SELECT, (a, Literal("string", n))), inner, NAMES),
        st.builds(lambda n, args: CallExpr(n, tuple(args)), NAMES, st.lists(inner, max_size=3)),
        st.builds(
            lambda n, args, t: CallExpr(n, tuple(args), t),
            NAMES,
            st.lists(inner, max_size=3),
            inner,
        ),
    )
    return st.one_of(
        calls,
        st.builds(Select, inner, NAMES),
        st.builds(lambda items: ListExpr(tuple(items)), st.lists(inner, max_size=3)),
        st.builds(lambda item: ListExpr((item,), (0,)), inner),
        st.builds(
            lambda entries: MapExpr(tuple(entries)),
            st.lists(st.builds(Entry, inner, inner, st.booleans()), max_size=3),
        ),
    )


EXPRESSIONS = st.recursive(LITERALS | NAMES.map(Ident), compounds, max_leaves=8)


@given(EXPRESSIONS)
def test_what_is_printed_parses_to_the_same(tree: Expr) -> None:
    """Nothing is lost between text and tree."""
    again, issues = parse(print_expr(tree))

    assert issues == []
    assert again == tree


@given(st.text(st.sampled_from("ab1.()[]{}+-*/%<>=!&|?:,'\"\\ \n`@$selfinu"), max_size=30))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    """Any text is accepted or refused, without another exception."""
    complaint = "ERROR: <input>:"
    try:
        compile_expression(text, Schema(type="object", properties={"s": Schema(type="string")}))
    except CelCompileError as error:
        complaint = str(error)

    assert "ERROR: <input>:" in complaint or "instantiation failed" in complaint


INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20)
PAIR = schema_of({"type": "array", "items": {"type": "integer"}})
ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)),
}
PROGRAMS = {op: compile_expression(f"self[0] {op} self[1]", PAIR) for op in ARITHMETIC}


@given(st.sampled_from([*ARITHMETIC]), INTS, INTS)
def test_integers_are_exact_or_an_error(operator: str, left: int, right: int) -> None:
    """They neither overflow nor get rounded."""
    try:
        result = PROGRAMS[operator].evaluate([left, right])
    except CelEvaluationError as error:
        result = str(error)

    if right == 0 and operator in "/%":
        assert result in ("division by zero", "modulus by zero")
    elif not -(2**63) <= ARITHMETIC["/" if operator == "%" else operator](left, right) < 2**63:
        assert result == "integer overflow"
    else:
        assert result == ARITHMETIC[operator](left, right)


RELATIONS = {
    op: compile_rule(f"self[0] {op} self[1]", PAIR) for op in ("<", "<=", ">", ">=", "==", "!=")
}


@given(INTS, INTS)
def test_relations_agree_with_each_other(left: int, right: int) -> None:
    """Exactly one of less, equal and greater."""
    answers = {op: program.evaluate([left, right]) for op, program in RELATIONS.items()}

    assert [answers["<"], answers["=="], answers[">"]].count(True) == 1
    assert answers["<="] == (not answers[">"])
    assert answers[">="] == (not answers["<"])
    assert answers["!="] == (not answers["=="])


TEXTS = st.text("ab\u00e9\u65e5", max_size=8)
STRINGS = schema_of({"type": "array", "items": {"type": "string"}})


@pytest.mark.parametrize(
    ("expr", "python"),
    [
        ("self[0].contains(self[1])", lambda a, b: b in a),
        ("self[0].startsWith(self[1])", str.startswith),
        ("self[0].endsWith(self[1])", str.endswith),
        ("self[0] + self[1]", lambda a, b: a + b),
        ("self[0].replace(self[1], 'x')", lambda a, b: a.replace(b, "x")),
        ("self[0].split(self[1])", lambda a, b: a.split(b) if b else list(a)),
        ("self[0].indexOf(self[1])", str.find),
        ("self[0].lastIndexOf(self[1])", str.rfind),
        ("self.join(',')", lambda a, b: f"{a},{b}"),
        ("size(self[0]) + self[1].size()", lambda a, b: len(a) + len(b)),
        ("self[0] < self[1]", lambda a, b: a < b),
    ],
)
def test_strings_count_characters(expr: str, python: Any) -> None:
    """As in Python, which is why its functions can be used."""
    program = compile_expression(expr, STRINGS)

    @given(TEXTS, TEXTS)
    def agree(left: str, right: str) -> None:
        assert program.evaluate([left, right]) == python(left, right)

    agree()


@given(st.lists(INTS, max_size=6))
def test_sorting_and_extremes(items: list[int]) -> None:
    """A sorted list is ordered, and its ends are minimum and maximum."""
    ordered = compile_expression("self.sort()", PAIR).evaluate(items)

    assert ordered == sorted(items)
    if items:
        extremes = compile_expression("[self.min(), self.max()]", PAIR).evaluate(items)
        assert extremes == [ordered[0], ordered[-1]]


@given(st.floats())
def test_doubles_survive_their_text(value: float) -> None:
    """With as few digits as needed."""
    again = float(format_double(value).replace("Inf", "inf"))

    assert again == value or (math.isnan(value) and math.isnan(again))


@given(st.integers(-(10**17), 10**17), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "n", "e2"]))
def test_quantities_have_their_value(number: int, suffix: str) -> None:
    """A number times its unit, with a precision of nano."""
    units = {
        "": "1",
        "m": "1e-3",
        "k": "1e3",
        "M": "1e6",
        "n": "1e-9",
        "Ki": "1024",
        "Mi": "1048576",
        "e2": "100",
    }
    exact = number * Decimal(units[suffix])
    quantity = parse_quantity(f"{number}{suffix}")

    value = Decimal(quantity.mantissa).scaleb(quantity.scale)
    bounded = min(max(exact, Decimal(-(2**63) + 1)), Decimal(2**63 - 1))
    assert value == (bounded if suffix.endswith("i") else exact)


@given(st.text("abz_.-/x1", min_size=1, max_size=8))
def test_names_survive_escaping(name: str) -> None:
    """The name of a field in a rule is unambiguous."""
    escaped = escape(name)

    if escaped is not None:
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", escaped)
        assert unescape(escaped) == name


@given(st.datetimes(), st.integers(0, 999_999_999))
def test_moments_survive_their_text(moment: Any, nanos: int) -> None:
    """To the nanosecond."""
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + f".{nanos:09d}Z"

    parsed = parse_timestamp(text)

    assert parse_timestamp(print_timestamp(parsed)) == parsed


@given(st.integers(0, 2_000_000), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    """Each part counts."""
    length = parse_duration(f"{hours}h{minutes}m{seconds}s")

    assert length.nanos == ((hours * 60 + minutes) * 60 + seconds) * 10**9


@given(st.text("ab01()[]{}*+?|^$.\\dwsbQEpL-,:<>=!Pi", max_size=12), st.text("ab01 -", max_size=6))
def test_any_pattern_is_compiled_or_refused(pattern: str, text: str) -> None:
    """The error has the words of Go."""
    complaint = "error parsing regexp: "
    try:
        compile_pattern(pattern).find(text)
    except PatternError as error:
        complaint = str(error)

    assert complaint.startswith("error parsing regexp: ")

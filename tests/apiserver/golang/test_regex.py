"""Regular expressions of Go mean the same here."""

import random
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from myrmidon.apiserver.golang.budget import StepBudget, StepBudgetError
from myrmidon.apiserver.golang.regex import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a$", "a\n", False),  # Python's `$` would take the line end
        ("(?m)a$", "a\nb", True),
        (r"a\z", "a", True),
        (r"^\d$", "٣", False),  # digits are ASCII
        (r"^[[:alpha:]]+$", "abc", True),
        (r"^[^[:space:]]+$", "a b", False),
        (r"^\pL+$", "äß", True),
        (r"^\p{Lu}$", "a", False),
        (r"^\P{L}$", "1", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        ("a(?i)b|c", "C", True),  # flags hold to the end of the group
        ("(a(?i)b)c", "aBC", False),
        ("(?:x(?s).)y", "x\ny", True),
        ("a{,2}", "a{,2}", True),  # a brace that is not a repetition
        ("(?P<n>a)(?<m>b)", "ab", True),
        (r"\x{41}", "A", True),
        ("[]a]", "]", True),
        ("a*?b", "aab", True),
    ],
)
def test_match(pattern: str, text: str, matches: bool) -> None:
    """Whether the pattern matches the text."""
    assert (compile_pattern(pattern).matches(text)) is matches


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "[", "a**", "*", "a{2}{3}", "(?=a)", "(?<!a)", r"\1", "\\", "[b-a]", "a{1001}"],
)
def test_refused(pattern: str) -> None:
    """Patterns that Go cannot compile are refused here, too."""
    with pytest.raises(PatternError, match="error parsing regexp: "):
        compile_pattern(pattern)


# ------------------------------------------------------------------------- linear time

# Pattern and text on which a matcher that backtracks takes 2^n, n^3 or n² steps.
HARD = [
    ("^(a+)+$", "a" * 5000 + "b"),
    ("^(a|a)*$", "a" * 5000 + "b"),
    ("(a*)*b", "a" * 5000),
    ("^(a?){50}a{50}$", "a" * 50),
    ("a*a*a*a*c", "a" * 5000),
    ("(x+x+)+y", "x" * 5000),
    ("a+$", "a" * 5000 + "b"),
    (r"^(\w+\s?)*$", "word " * 1000 + "!"),
    ("^([a-z]+[0-9]*)+$", "abc123" * 1000 + "-"),
]


@pytest.mark.parametrize(("pattern", "text"), HARD)
def test_steps_are_linear_in_the_text(pattern: str, text: str) -> None:
    """A budget of a few steps per character is enough for patterns that invite backtracking."""
    compiled = compile_pattern(pattern)
    with StepBudget(20 * len(text) + 200_000):
        compiled.matches(text)
        compiled.find(text)


def test_steps_beyond_the_budget_are_refused() -> None:
    """Hundreds of threads times a long text is linear, but too much for one request."""
    compiled = compile_pattern("(a|b)*a(a|b){900}c")
    text = "".join(random.Random(1).choices("ab", k=20_000))

    with StepBudget(1_000_000), pytest.raises(StepBudgetError):
        compiled.matches(text)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(" * 5000 + ")" * 5000, "expression nests too deeply"),
        ("a" + "*(?i)" * 5000, "expression nests too deeply"),
        ("(a{1000}b)" * 100, "expression too large"),
        ("a" * 100_000, "expression too large"),
        ("(a{100}){11}", "invalid repeat count"),
        ("a{99999999999999999999}", "invalid repeat count"),
    ],
)
def test_patterns_without_bounds_are_refused(pattern: str, problem: str) -> None:
    """Go has the same limits, some of them higher."""
    with pytest.raises(PatternError, match=f"error parsing regexp: {problem}"):
        compile_pattern(pattern)


# Patterns that Python's `re` reads in the same way, over texts without line ends.
_ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "(?:ab)", r"\b", "^", r"\w"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*?", "+", "?", "??", "{2}", "{1,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=400)
@given(pattern=_PATTERNS, text=st.text("ab ", max_size=8), start=st.integers(0, 3))
def test_the_same_matches_as_a_matcher_that_backtracks(pattern: str, text: str, start: int) -> None:
    """Start and end of the match are those that Python finds, where both mean the same."""
    # Python and Go differ in repetitions of what can be empty.
    assume(not re.search(r"[*+?}]\)[*+{]|\\b\)[*+?{]|\^\)[*+?{]|\?\|", pattern))
    start = min(start, len(text))
    expected = re.compile(pattern).search(text, start)
    # Python takes `start` for the start of the text; Go does not.
    assume(start == 0 or ("^" not in pattern and r"\b" not in pattern))

    found = compile_pattern(pattern).find(text, start)

    assert found == (expected.span() if expected else None)
    assert compile_pattern(pattern).matches(text) is (re.search(pattern, text) is not None)

"""Regular expressions of Go mean the same here."""

import pytest

from myrmidon.apiserver.go_regex import PatternError, translate


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
        ("a{,2}", "a{,2}", True),  # a brace that is no repetition
        ("(?P<n>a)(?<m>b)", "ab", True),
        (r"\x{41}", "A", True),
        ("[]a]", "]", True),
        ("a*?b", "aab", True),
    ],
)
def test_match(pattern: str, text: str, matches: bool) -> None:
    """Found, or not."""
    assert (translate(pattern).search(text) is not None) is matches


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "[", "a**", "*", "a{2}{3}", "(?=a)", "(?<!a)", r"\1", "\\", "[b-a]", "a{1001}"],
)
def test_refused(pattern: str) -> None:
    """What Go cannot compile is refused here, too."""
    with pytest.raises(PatternError, match="error parsing regexp: "):
        translate(pattern)

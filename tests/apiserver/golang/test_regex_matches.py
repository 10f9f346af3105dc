"""Patterns have the meaning that they have in Go."""

import pytest

from myrmidon.apiserver.golang.regex import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a$", "a\n", None),
        ("(?m)a$", "a\nb", "a"),
        ("^b", "a\nb", None),
        ("(?m)^b", "a\nb", "b"),
        (r"\d+", "\u0661\u0662", None),
        (r"\w+", "\u00e9a", "a"),
        (r"\s", "\v", None),
        (r"[\s]", "\v", None),
        (r"\Aab\z", "ab", "ab"),
        ("a.b", "a\nb", None),
        ("(?s)a.b", "a\nb", "a\nb"),
        ("(?i)AB", "ab", "ab"),
        ("x(?i)a|B", "b", "b"),
        ("x(?i:a)b", "xAb", "xAb"),
        ("x(?i:a)b", "xAB", None),
        ("(?U)a+", "aaa", "a"),
        ("(?U)a+?", "aaa", "aaa"),
        (r"\Qa.b\E+", "a.bb", "a.bb"),
        ("[[:alpha:]]+", "1ab2", "ab"),
        ("[^[:alpha:]]+", "ab12", "12"),
        ("[[:^alpha:]]+", "ab12", "12"),
        (r"\pL+", "1\u00e9a", "\u00e9a"),
        (r"\p{Lu}", "aB", "B"),
        (r"\PL", "a1", "1"),
        (r"[^\pL]", "a1", "1"),
        ("[]a]+", "]a", "]a"),
        ("[a-]+", "a-", "a-"),
        (r"[\D]+", "1a", "a"),
        (r"\x41\x{42}\103", "ABC", "ABC"),
        (r"\bab\b", "x ab y", "ab"),
        ("a{,2}", "a{,2}", "a{,2}"),
        ("a{2}", "aaa", "aa"),
        ("(?P<n>a)(?<m>b)", "ab", "ab"),
        ("(|a)+", "aa", ""),
        ("a*(?i)*", "aa", "aa"),
        ("^*a", "a", "a"),
        ("[[.]+", "[.", "[."),
        ("a||b", "b", ""),
    ],
)
def test_matches(pattern: str, text: str, found: str | None) -> None:
    """The matched text, or None."""
    match = compile_pattern(pattern).find(text)

    assert (text[match.start : match.end] if match else None) == found


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("(*)", "missing argument to repetition operator: `*`"),
        ("[", "missing closing ]: `[`"),
        ("[a", "missing closing ]: `[a`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name: `n`"),
    ],
)
def test_refusals(pattern: str, complaint: str) -> None:
    """With the message of Go."""
    with pytest.raises(PatternError) as refused:
        compile_pattern(pattern)

    assert str(refused.value) == f"error parsing regexp: {complaint}"

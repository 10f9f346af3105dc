"""Selectors agree with the server (golden/FACTS.md 63)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.selectors import Requirement, Selector, parse_selector, selector
from myrmidon.errors import UsageError

LABELS = st.dictionaries(st.sampled_from(["a", "b", "in"]), st.sampled_from(["", "x", "y", "3"]))
WORDS = st.sampled_from(["x", "y", "3", ""])
REQUIREMENTS = st.builds(
    Requirement, st.sampled_from(["a", "b", "in", "example.com/a"]), st.just("exists"), st.just(())
)
REQUIREMENTS |= REQUIREMENTS.map(lambda r: r._replace(operator="absent"))
REQUIREMENTS |= st.builds(
    Requirement,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["=", "!=", ">", "<"]),
    st.tuples(WORDS),
)
REQUIREMENTS |= st.builds(
    Requirement,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["in", "notin"]),
    st.sets(WORDS, min_size=1).map(lambda found: tuple(sorted(found))),
)


@given(requirements=st.lists(REQUIREMENTS))
def test_a_selector_reads_back_as_it_prints(requirements: list[Requirement]) -> None:
    """The printed text is what the server gets."""
    made = Selector(requirements)

    assert parse_selector(str(made)) == made


@given(requirements=st.lists(REQUIREMENTS), labels=LABELS)
def test_a_selector_matches_if_all_its_requirements_do(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    """The empty one matches everything."""
    expected = all(requirement.matches(labels) for requirement in requirements)

    assert Selector(requirements).matches(labels) == expected


@given(labels=LABELS, other=LABELS)
def test_a_mapping_selects_objects_with_these_labels(
    labels: dict[str, str], other: dict[str, str]
) -> None:
    """Equality-based selectors are set inclusion."""
    assert selector(labels).matches(other) == (labels.items() <= other.items())


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("a==x", {"a": "x"}, True),
        ("a!=x", {}, True),
        ("a notin (x,y)", {}, True),
        ("a notin (x, y)", {"a": "y"}, False),
        ("a in (x, y)", {"a": "y"}, True),
        ("a in (x)", {}, False),
        ("a in ()", {"a": ""}, True),
        (" a , !b ", {"a": "1"}, True),
        ("! b", {"b": ""}, False),
        ("a>2,a<4", {"a": "3"}, True),
        ("a>2", {"a": "two"}, False),
        ("a>2", {}, False),
        ("", {"a": "x"}, True),
    ],
)
def test_grammar_of_the_server(text: str, labels: dict[str, str], matches: bool) -> None:
    """Absent keys satisfy ``!=`` and ``notin``; a value that is not a number is never greater."""
    assert selector(text).matches(labels) is matches


def test_no_selector_selects_everything() -> None:
    """None is the same as no selector."""
    assert selector(None) == Selector()


@pytest.mark.parametrize("text", ["a=(", "a in x", "=a", "a b", "a,,b", "a in (b"])
def test_an_invalid_selector_is_refused_with_the_grammar(text: str) -> None:
    """The message shows the position of the problem."""
    with pytest.raises(UsageError, match=r"unable to parse the selector .*\n  fix: write"):
        parse_selector(text)


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 200_000 + "!",
        "!" + " " * 200_000,
        "a" * 200_000 + "(",
        "a in (" + "b," * 100_000,
    ],
    ids=["blanks", "absent", "key", "values"],
)
def test_a_long_selector_is_refused_at_once(text: str) -> None:
    """Q8: the pattern never backtracks; backtracking took minutes here."""
    with pytest.raises(UsageError) as caught:
        parse_selector(text)
    assert len(str(caught.value)) < 1000


def test_a_selector_of_many_requirements_is_read_once() -> None:
    """The rest of the text is not copied for each of them."""
    many = ",".join(f"key-{number}={number}" for number in range(20_000))

    assert len(parse_selector(f" {many} , ")) == 20_000

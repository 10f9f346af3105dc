"""Rules as people write them, from the golden scenarios and the Kubernetes documentation."""

from typing import Any

import pytest

from myrmidon.apiserver.cel import (
    CelCompileError,
    CelError,
    CelEvaluationError,
    compile_message,
    compile_rule,
)
from tests.apiserver.cel.recordings import schema_of

ITEMS = {
    "type": "array",
    "maxItems": 10,
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "min": {"type": "integer"},
        "max": {"type": "integer"},
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "items": ITEMS,
    },
}


def holds(rule: str, source: dict[str, Any], *values: Any, **options: bool) -> Any:
    """Evaluate a rule for a value, with or without an old one."""
    return compile_rule(rule, schema_of(source), **options).evaluate(*values)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("self.min <= self.max", {"min": 1, "max": 2}, {"min": 3, "max": 2}),
        ("!has(self.name) || self.name.startsWith('x-')", {}, {"name": "y"}),
        ("!has(self.tags) || self.tags.all(t, t.size() < 4)", {"tags": ["a"]}, {"tags": ["abcd"]}),
        ("!(has(self.min) && has(self.max))", {"min": 1}, {"min": 1, "max": 1}),
        (
            "self.items.exists_one(i, i.name == 'main')",
            {"items": [{"name": "main"}]},
            {"items": []},
        ),
        (
            "self.items.map(i, i.count).sum() <= 10",
            {"items": [{"count": 4}, {"count": 6}]},
            {"items": [{"count": 11}]},
        ),
        (
            "self.items.filter(i, i.count > 5).size() <= 1",
            {"items": [{"count": 6}]},
            {"items": [{"count": 6}, {"count": 7}]},
        ),
    ],
)
def test_rules_of_the_scenarios(rule: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
    """A rule accepts valid objects and refuses invalid ones."""
    assert holds(rule, SPEC, good) is True
    assert holds(rule, SPEC, bad) is False


@pytest.mark.parametrize(
    ("source", "rule", "good", "bad"),
    [
        ({"type": "string"}, "self.matches('^[a-z]+$')", "abc", "XYZ"),
        ({"type": "string"}, "self.size() > 1 && self.contains('a')", "ab", "b"),
        (
            {"type": "string"},
            "isQuantity(self) && quantity(self).isGreaterThan(quantity('1Gi'))",
            "2Gi",
            "2M",
        ),
        (
            {"type": "string", "format": "date-time"},
            "self > timestamp('2020-01-01T00:00:00Z')",
            "2021-01-01T00:00:00Z",
            "2019-01-01T00:00:00Z",
        ),
        ({"type": "string", "format": "duration"}, "self < duration('1h')", "59m", "2h"),
        (
            {"type": "string"},
            "isURL(self) && url(self).getScheme() == 'https'",
            "https://a",
            "http://a",
        ),
        (
            {"x-kubernetes-int-or-string": True},
            "type(self) == int ? self > 0 : self.endsWith('%')",
            "50%",
            -1,
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "self.all(k, k.startsWith('k') && self[k] != '')",
            {"k1": "a"},
            {"k1": ""},
        ),
    ],
)
def test_rules_for_single_values(source: dict[str, Any], rule: str, good: Any, bad: Any) -> None:
    """Strings with formats, ints or strings, and maps."""
    assert holds(rule, source, good) is True
    assert holds(rule, source, bad) is False


def test_a_missing_field_is_an_error_with_its_name() -> None:
    """The server puts this text into its response."""
    rule = "self.map(i, i.count).sum() <= 10"

    with pytest.raises(CelEvaluationError, match=r"^no such key: count$"):
        holds(rule, ITEMS, [{"name": "main"}])


def test_a_resource_has_its_name_whatever_the_schema_says() -> None:
    """At the root, kind and name are always available, and no other metadata."""
    source = {"type": "object", "properties": {"spec": SPEC}}
    document = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "ga", "labels": {}}}

    assert holds("self.metadata.name.startsWith('g')", source, document, resource=True) is True
    with pytest.raises(CelCompileError, match="undefined field 'labels'"):
        compile_rule("self.metadata.labels.size() > 0", schema_of(source), resource=True)
    with pytest.raises(CelCompileError, match="undefined field 'metadata'"):
        compile_rule("self.metadata.name != ''", schema_of(source))


def test_transition_rules_are_marked_as_such() -> None:
    """The caller skips them at creation."""
    schema = schema_of({"type": "integer"})

    assert compile_rule("self >= oldSelf", schema).uses_old_self
    assert not compile_rule("self >= 0", schema).uses_old_self
    assert compile_rule("self >= oldSelf", schema).evaluate(2, 1) is True
    with pytest.raises(CelEvaluationError, match=r"no such attribute\(s\): oldSelf"):
        compile_rule("self >= oldSelf", schema).evaluate(2)


def test_an_optional_old_value_is_there_or_not() -> None:
    """Such rules run at creation, too."""
    rule = "!oldSelf.hasValue() || self == oldSelf.value()"

    assert holds(rule, {"type": "integer"}, 1, optional_old_self=True) is True
    assert holds(rule, {"type": "integer"}, 1, 1, optional_old_self=True) is True
    assert holds(rule, {"type": "integer"}, 1, 2, optional_old_self=True) is False


def test_a_compile_error_points_to_the_position() -> None:
    """The message is followed by the rule and a line with a pointer."""
    source = {"type": "object", "properties": {"x": {"type": "integer"}}}

    with pytest.raises(CelError) as refused:
        compile_rule("self.nope > 1", schema_of(source))

    assert str(refused.value) == (
        "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^"
    )


def test_messages_are_strings() -> None:
    """They may use everything that rules may."""
    schema = schema_of(SPEC)
    message = compile_message("'the first one is ' + self.tags[0]", schema)

    assert message.evaluate({"tags": ["a"]}) == "the first one is a"
    with pytest.raises(CelCompileError, match=r"^messageExpression must evaluate to a string$"):
        compile_message("self.tags", schema)
    with pytest.raises(CelCompileError, match=r"^messageExpression compilation failed: ERROR: "):
        compile_message("self.nope", schema)


def test_a_message_without_a_bound_is_too_expensive() -> None:
    """A printed integer has no length limit, so the estimate is unbounded."""
    schema = schema_of(SPEC)

    assert compile_message("'at least ' + string(self.min)", schema).max_cost > 10_000_000
    assert compile_message("'at least ' + self.name", schema).max_cost < 10_000_000


def test_a_schema_without_type_has_no_rules() -> None:
    """The type of its values is unknown."""
    with pytest.raises(CelCompileError, match="failed to convert to declType"):
        compile_rule("true", schema_of({"x-kubernetes-preserve-unknown-fields": True}))


def test_lists_of_maps_are_equal_in_any_order() -> None:
    """Elements are matched by their keys; an added element replaces one with the same key."""
    source = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
        },
    }
    first = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]

    assert holds("self == oldSelf", source, first, first[::-1]) is True
    assert holds("self == oldSelf", source, first, [first[0], {"name": "b", "v": 3}]) is False
    assert holds("(self + oldSelf).map(i, i.v) == [1, 3]", source, first, [{"name": "b", "v": 3}])


def test_sets_are_equal_in_any_order() -> None:
    """A value that is added twice is there once."""
    source = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}

    assert holds("self == oldSelf", source, ["a", "b"], ["b", "a"]) is True
    assert holds("self + oldSelf == ['a', 'b', 'c']", source, ["a", "b"], ["b", "c"]) is True


def test_values_are_not_changed_by_rules() -> None:
    """They belong to the store."""
    source = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    value = ["a"]

    holds("(self + ['b'] + oldSelf).size() > 0", source, value, value)

    assert value == ["a"]


def test_deep_rules_are_refused() -> None:
    """Rules are user input, and must not exhaust the stack."""
    schema = schema_of({"type": "integer"})
    for text in ("(" * 5000, "-" * 9000, "[" * 400 + "]" * 400, "1" + "+1" * 5000, "!" * 9000):
        with pytest.raises(CelCompileError):
            compile_rule(text, schema)

"""The runtime cost of rules.  The numbers are those at which a real server stopped them."""

from collections.abc import Callable
from typing import Any

import pytest

from myrmidon.apiserver.cel import CelCostError, compile_rule
from myrmidon.apiserver.schema import rules
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema_node import Schema

CUBE = "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"
ORDERS = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}


def array(of: Any, most: int, rule: str = "true") -> dict[str, Any]:
    """A list with a rule."""
    kept = [{"rule": rule, "message": "too much"}]
    return {"type": "array", "maxItems": most, "items": of, "x-kubernetes-validations": kept}


def schema(of: Any, most: int) -> Schema:
    """The schema of a list."""
    return compile_schema(array(of, most))


@pytest.mark.parametrize(
    ("rule", "of", "item", "stopped"),
    [
        pytest.param(CUBE, {"type": "integer"}, lambda _: 1, 48, id="all"),
        pytest.param(
            "self.all(x, self.filter(y, y > x).size() >= 0)",
            {"type": "integer"},
            lambda index: index,
            325,
            id="filter",
        ),
        pytest.param(
            "self.all(x, self.map(y, y + x).size() >= 0)",
            {"type": "integer"},
            lambda _: 1,
            258,
            id="map",
        ),
        pytest.param(
            "self.all(x, self.all(y, (x > y ? x : y) >= 0 && [x,y].size() == 2))",
            {"type": "integer"},
            lambda _: 1,
            219,
            id="a choice and a list",
        ),
        pytest.param(
            "self.all(x, self.all(y, x.n + y.n >= 0 || has(x.s)))",
            ORDERS,
            lambda _: {"n": 1},
            334,
            id="fields",
        ),
        pytest.param(
            "self.all(x, self.all(y, (x+y).size() < 200))",
            {"type": "string", "maxLength": 60},
            lambda _: "a" * 40,
            259,
            id="strings",
        ),
    ],
)
def test_a_rule_is_stopped_where_the_real_server_stops_it(
    rule: str, of: Any, item: Callable[[int], Any], stopped: int
) -> None:
    """With one element less it runs to its end."""
    program = compile_rule(rule, schema(of, 1000))
    items = [item(index) for index in range(stopped)]
    assert program.evaluate(items[1:]) is True
    with pytest.raises(CelCostError, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate(items)


def test_cheap_rules_are_not_counted() -> None:
    """Counting would slow down rules that never need to be stopped."""
    program = compile_rule("self.all(x, x > 0)", schema({"type": "integer"}, 10))
    assert program.evaluate([1, 2]) is True
    assert program.spent == 0


def test_a_rule_that_is_stopped_is_the_last_one() -> None:
    """The real server evaluates no further rule of the object."""
    late = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]}
    properties = {"a": array({"type": "integer"}, 100, CUBE), "b": late}
    checked = compile_schema({"type": "object", "properties": properties})
    found = rules.check_rules({"a": [1] * 48, "b": 5}, checked)
    assert [(cause.field, cause.message) for cause in found] == [
        (
            "a",
            (
                "Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further "
                "validation rules will be run due to call cost exceeds limit for rule: too much"
            ),
        )
    ]


def test_all_rules_of_an_object_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ten times that of one rule; the test uses a smaller one to save time."""
    monkeypatch.setattr(rules, "BUDGET", 200_000)
    properties = {key: array({"type": "integer"}, 60, CUBE) for key in "abc"}
    checked = compile_schema({"type": "object", "properties": properties})
    found = rules.check_rules(dict.fromkeys("abc", [1] * 20), checked)
    assert [(cause.field, cause.message) for cause in found] == [
        (
            "c",
            (
                'Invalid value: "array": validation failed due to running out of cost budget, no further '
                "validation rules will be run"
            ),
        )
    ]

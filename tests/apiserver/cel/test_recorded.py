"""The same results as the real server's own code, for about 1,500 expressions.

One test for each group of expressions, not for each expression: the overhead of a test is larger
than that of an expression.
"""

from typing import Any

import pytest

from myrmidon.apiserver.cel.errors import CelCompileError, CelEvaluationError
from myrmidon.apiserver.cel.program import compile_expression, compile_rule
from tests.apiserver.cel.recordings import Group, groups, show

GROUPS = groups()
each_group = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)


def answer_to(group: Group, expr: str) -> dict[str, Any]:
    """Return our result, in the recorder's notation."""
    try:
        program = compile_expression(expr, group.schema, **group.options)
        return {"value": show(program.evaluate(*group.values))}
    except CelCompileError as error:
        return {"error": str(error)}
    except CelEvaluationError as error:
        return {"eval_error": str(error)}


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a recorded result that is compared."""
    ((key, value),) = ((k, v) for k, v in answer.items() if k in ("value", "error", "eval_error"))
    if isinstance(value, str) and value.startswith(("kubernetes.", "net.")):
        value = value.partition(":")[0]  # how Go prints them does not matter
    return {key: value}


@each_group
def test_values_and_complaints(group: Group) -> None:
    """Values, runtime errors and compile errors, to the letter."""
    wrong = [
        (answer["expr"], ours, expected(answer))
        for answer in group.answers
        if (ours := answer_to(group, answer["expr"])) != expected(answer)
    ]

    assert wrong == []


@each_group
def test_estimates(group: Group) -> None:
    """The static cost decides whether a definition is accepted, so the numbers must be equal."""
    wrong = []
    for answer in group.answers:
        rule = answer["rule"]
        if "max_cost" not in rule:
            continue
        program = compile_rule(answer["expr"], group.schema, **group.options)
        ours = (program.max_cost, program.max_cardinality, program.uses_old_self)
        if ours != (rule["max_cost"], rule["cardinality"], rule["uses_old"]):
            wrong.append((answer["expr"], ours, rule))

    assert wrong == []


@each_group
def test_refusals(group: Group) -> None:
    """As a rule, an expression must be a bool, too."""
    wrong = []
    for answer in group.answers:
        refusal = answer["rule"].get("error")
        if refusal is None:
            continue
        try:
            compile_rule(answer["expr"], group.schema, **group.options)
        except CelCompileError as error:
            if str(error) != refusal:
                wrong.append((answer["expr"], str(error), refusal))
        else:
            wrong.append((answer["expr"], "accepted", refusal))

    assert wrong == []


def test_there_are_enough_cases() -> None:
    """A lost file would pass all other tests."""
    assert sum(len(group.answers) for group in GROUPS) > 1400

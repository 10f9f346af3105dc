"""Markers, rules and columns in the wrong place: refused when the class is defined (D2)."""

from collections.abc import Callable
from types import new_class
from typing import Annotated, Any

import pytest

from myrmidon import Immutable, Model, Resource, Rule, Status
from myrmidon.errors import DefinitionError


def model(**options: Any) -> Any:
    """Define a model with these class keywords."""
    return new_class("Spec", (Model,), options)


def with_field(annotation: Any, default: Any) -> Any:
    """Define a model with one field."""
    body = {"__module__": __name__, "__annotations__": {"a": annotation}, "a": default}
    return new_class("Spec", (Model,), {}, lambda namespace: namespace.update(body))


def with_columns() -> Any:
    """Define a resource whose columns are a list."""
    columns: Any = ["size"]

    class Thing(Resource[Model, Status], group="demo.example.com", version="v1", columns=columns):
        """A thing."""

    return Thing


DECLARATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "a rule as text": (lambda: model(rules=["self.a > 0"]), 'write rules=[Rule("self.a > 0", '),
    "one rule": (lambda: model(rules=Rule("self.a > 0")), "write rules=[Rule(...)]"),
    "one text": (lambda: model(rules="self.a > 0"), "write rules=[Rule(...)]"),
    "a marker as the default": (
        lambda: with_field(str, Immutable()),
        "write a: Annotated[str, Immutable()]",
    ),
    "a marker without parentheses": (
        lambda: with_field(Annotated[str, Immutable], ""),
        "write Annotated[..., Immutable(...)]",
    ),
    "columns as a list": (with_columns, 'write columns={"Image": ".spec.image"}'),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_d2_a_field_that_cannot_be_meant(name: str) -> None:
    """It would have no effect, or fail where the definition is generated."""
    declare, fix = DECLARATIONS[name]

    with pytest.raises(DefinitionError) as caught:
        declare()

    assert f"\n  fix: {fix}" in str(caught.value)

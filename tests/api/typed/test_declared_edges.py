"""Edge cases in declarations of resources: what is refused, and rules on the wire."""

from typing import Any

import pytest
from pydantic import Field

from myrmidon.api import Model, Resource, Rule, Status
from myrmidon.errors import DefinitionError, UnfitObjectError


class PlainSpec(Model):
    """Anything."""

    pair: tuple[int, list[int]] = (1, [2])
    number: int = 0
    extras: dict[str, Any] = Field(default_factory=lambda: {"a": 1})


class Plain(Resource[PlainSpec, Status], group="edges.dev", version="v1"):
    """A resource."""


def test_a_selectable_field_that_is_not_a_path_is_refused() -> None:
    """The server would refuse the whole definition."""
    with pytest.raises(DefinitionError, match="selectable_fields"):

        class Wrong(
            Resource[PlainSpec, Status], group="edges.dev", version="v1", selectable_fields=["x y"]
        ):
            """Wrong."""


def test_two_classes_of_one_version_are_refused() -> None:
    """Each version of a kind has one schema."""

    class First(
        Resource[PlainSpec, Status], group="edges.dev", version="v1", kind="Twin", storage=False
    ):
        """One."""

    with pytest.raises(DefinitionError, match="are both version 'v1'"):

        class Second(
            Resource[PlainSpec, Status],
            group="edges.dev",
            version="v1",
            kind="Twin",
            versions=[First],
        ):
            """The same again."""


def test_a_rule_is_sent_as_given() -> None:
    """Options that were not given are not sent."""
    assert Rule("self.a < self.b", message="a first").to_json() == {
        "rule": "self.a < self.b",
        "message": "a first",
    }
    with pytest.raises(DefinitionError, match="has several lines and no message"):
        Rule("self.a <\nself.b")


def test_a_number_of_more_than_64_bits_is_read_as_the_server_sends_it() -> None:
    """It does not fit an integer of the API, and the error names the field."""
    with pytest.raises(UnfitObjectError, match=r"spec\.number"):
        Plain.from_json({"metadata": {"name": "a"}, "spec": {"number": 2**70}})


def test_values_inside_a_tuple_are_read_only_too() -> None:
    """A spec is read only at every depth."""
    read = Plain.from_json({"metadata": {"name": "a"}, "spec": {"pair": [1, [2]]}})

    with pytest.raises(TypeError, match="read only"):
        read.spec.pair[1].append(3)


def test_a_default_that_was_changed_in_place_is_sent() -> None:
    """Whether it is a plain default or comes from a factory."""
    spec = PlainSpec()
    assert spec.to_wire() == {}
    spec.extras["b"] = 2

    assert spec.to_wire() == {"extras": {"a": 1, "b": 2}}

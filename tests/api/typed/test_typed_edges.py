"""Edge cases of typed resources."""

import typing
from copy import copy, deepcopy
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar

import orjson
import pytest
from pydantic import Field, ValidationError

from myrmidon.api import (
    Embedded,
    ListMap,
    ListSet,
    Model,
    Quantity,
    Resource,
    Rule,
    Status,
    status_patch,
)
from myrmidon.api.typed.frozen import FrozenDict, FrozenList, ReadOnlyError
from myrmidon.api.typed.metadata import HasMetadata
from myrmidon.api.typed.strictness import as_the_server
from myrmidon.errors import DefinitionError
from tests.api.apps import AppSpec, AppStatus, Port


class Built(Resource[AppSpec, AppStatus], group="example.com", version="v1"):
    """A model that is built, never read."""


SpecT = TypeVar("SpecT", bound=Model)


class Generic(Resource[SpecT, Status]):
    """A base for many resources, which is not a resource itself."""


class Concrete(Generic[AppSpec], group="example.com", version="v1"):
    """One of them."""


def test_frozen_values_are_copied_as_plain_ones() -> None:
    """Shallow, deep, by method and by pickle's protocol."""
    items, fields = FrozenList([[1]], "obj.spec"), FrozenDict({"a": [1]}, "obj.spec")

    for copied in (copy(items), items.copy(), deepcopy(items), items.__reduce_ex__(4)[1][0]):
        assert type(copied) is list
        assert copied == [[1]]
    for mapped in (copy(fields), fields.copy(), deepcopy(fields), fields.__reduce_ex__(4)[1][0]):
        assert type(mapped) is dict
        assert mapped == {"a": [1]}
    assert orjson.loads(orjson.dumps({"x": items, "y": fields})) == {"x": [[1]], "y": {"a": [1]}}


def test_every_argument_can_be_set_later() -> None:
    """Metadata on a copy; fields that are read only say so."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    given: Any = Built(
        name="a", annotations={"n": "1"}, finalizers=["x/f"], owner_references=[owner]
    )
    later: Any = Built(name="a")
    later.annotations, later.finalizers, later.owner_references = {"n": "1"}, ["x/f"], [owner]

    assert given.to_json() == later.to_json()
    assert given == later
    later.resource_version = "7"
    assert later.metadata["resourceVersion"] == "7"
    assert given != later
    later.spec = AppSpec(image="x")
    assert later.spec.image == "x"
    with pytest.raises(ReadOnlyError, match=r"obj\.uid is read only"):
        later.uid = "u"
    assert repr(Built(name="a")) == "Built(a)"
    assert given.raw == {}
    assert status_patch(given) == {}


def test_a_spec_with_only_defaults_is_created_on_access() -> None:
    """An object that was built without a spec has one."""

    class Defaults(Model):
        size: int = 1

    class Small(Resource[Defaults, Status], group="example.com", version="v1"):
        """Small."""

    assert Small(name="a").spec.size == 1
    assert Small.from_json({"metadata": {"name": "a"}}).to_json()["metadata"] == {"name": "a"}


def test_a_part_of_the_wrong_class_is_refused() -> None:
    """The error names the expected class; JSON is parsed."""
    assert Built(name="a", spec={"image": "x"}).spec.image == "x"
    with pytest.raises(TypeError, match=r"Built\.spec must be a AppSpec, not int"):
        Built(name="a", spec=7)  # type: ignore[arg-type]


def test_a_generic_base_is_not_a_resource() -> None:
    """Its subclasses are."""
    assert not hasattr(Generic, "KIND")
    assert Concrete.KIND.kind == "Concrete"
    assert Concrete.SPEC is AppSpec

    class Mixin(typing.Generic[SpecT]):
        """Another generic class."""

    class Mixed(Built, Mixin[AppSpec], group="example.com", version="v2"):
        """A resource that inherits the types of its spec and status."""

    assert (AppSpec, AppStatus) == (Mixed.SPEC, Mixed.STATUS)


def test_mistakes_in_declarations_are_named() -> None:
    """Rules, keys of lists, versions, and a resource without a spec."""
    with pytest.raises(DefinitionError, match="a Rule has no expression"):
        Rule(" ")
    with pytest.raises(DefinitionError, match="has several lines and no message"):
        Rule("a\n&& b")
    with pytest.raises(DefinitionError, match=r"ListMap\(\) names no key"):
        ListMap()
    with pytest.raises(
        DefinitionError, match="lists <class 'int'> in versions, which is not a Resource"
    ):

        class Versioned(
            Resource[AppSpec, Status],
            group="example.com",
            version="v1",
            versions=[int],  # type: ignore[list-item]
        ):
            """A resource with an invalid version."""

    with pytest.raises(NotImplementedError):
        HasMetadata()._refuse_if_read("obj")


class Lists(Model):
    """Lists that the server checks."""

    tags: Annotated[list[str | int | bool], ListSet()] = Field(default_factory=list)
    ports: Annotated[list[Port], ListMap("portName")] = Field(default_factory=list)
    maps: Annotated[list[dict[str, Any]], ListMap("name")] = Field(default_factory=list)
    lost: Annotated[list[Port], ListMap("nothing")] = Field(default_factory=list)
    embedded: Annotated[Any, Embedded()] = None


@pytest.mark.parametrize(
    "value",
    [
        {"tags": ["a", "b"]},
        {"tags": [True, 1]},
        {"ports": [{"portName": "a"}, {"portName": "b"}]},
        {"maps": [{"name": "a"}, {"name": "b"}]},
        {"lost": [{"portName": "a"}]},
        {"embedded": {"apiVersion": "v1", "kind": "Pod"}},
        {"embedded": 7},
    ],
    ids=range(7),
)
def test_lists_hold_each_element_once(value: Any) -> None:
    """By value or by key, in Python's or the wire's spelling."""
    assert Lists.from_wire(value).to_wire() == value


@pytest.mark.parametrize(
    "value",
    [
        {"tags": ["a", "a"]},
        {"ports": [{"portName": "a"}, {"portName": "a"}]},
        {"maps": [{"name": "a"}, {"name": "a"}]},
        {"embedded": {"apiVersion": "v1"}},
    ],
    ids=range(4),
)
def test_an_object_that_the_server_would_refuse_does_not_fit(value: Any) -> None:
    """The same elements twice, an object without a kind."""
    with pytest.raises(ValidationError):
        Lists.from_wire(value)


class Level(Enum):
    """Choices, two of which Python takes for one."""

    ON = True
    HIGH = 5


class Node(Model):
    """A model inside itself, with choices."""

    children: list["Node"] = Field(default_factory=list)
    truth: Literal[True] | None = None
    level: Level | None = None


class Parent(Model):
    """A model that refers to a later one."""

    child: "Child | None" = None


class Child(Model):
    """A model that refers to the earlier one."""

    parent: Parent | None = None


def test_models_may_name_each_other() -> None:
    """In any order of definition."""
    wire = {"child": {"parent": {"child": None}}}

    assert Parent.from_wire(wire).to_wire() == wire


def test_models_inside_themselves_and_choices_of_booleans() -> None:
    """Both are validated as by the server."""
    wire = {"children": [{"children": [], "truth": True}], "level": 5}

    assert Node.from_wire(wire).to_wire() == wire
    pair = ({"type": "none"}, "label")
    assert as_the_server(pair, lambda ref: ref) == pair


def test_an_unknown_field_may_have_the_name_of_a_required_one() -> None:
    """In Python's spelling: only the wire name is the field."""
    port = Port.from_wire({"portName": "a", "port_name": "b"})

    assert port.port_name == "a"
    assert port.to_wire()["portName"] == "a"


def test_status_lists_of_maps_are_compared_by_content() -> None:
    """An unchanged list is not a change, a changed one is sent whole."""
    app = Built.from_json(
        {"metadata": {"name": "a"}, "spec": {"image": "x"}, "status": {"anything": [{"a": 1}]}}
    )

    assert status_patch(app) == {}
    app.status.anything = [{"a": True}]
    assert status_patch(app) == {"anything": [{"a": True}]}


def test_quantities_are_values() -> None:
    """Printed, hashed and compared by their amount."""
    half = Quantity("500m")

    assert repr(half) == "Quantity('500m')"
    assert half == Quantity("0.5")
    assert hash(half) == hash(Quantity("0.5"))
    assert half != "500m"
    assert bool(half)

"""D2: mistakes in a first controller, each refused with its fix."""

from typing import Any

import pytest

from myrmidon import fsm
from myrmidon.api import Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.errors import DefinitionError
from myrmidon.fsm import Context, Controller, Done, Result, Watch, state
from myrmidon.sets import OutputSet
from tests.fsm.test_definition import CONSTANT, FIX
from tests.fsm.things import Thing, ThingSpec, define, marked


class Other(Resource[ThingSpec, Status], group="test.myrmidon.dev", version="v1"):
    """Another resource."""


def swapped(self: Any, obj: Any, ctx: Context, out: OutputSet) -> Result:
    """Take the context first."""
    return Done()


def swapped_in_text(self: Any, obj: Any, ctx: "fsm.Context") -> Result:
    """Take only the context, annotated by text: ``from __future__ import annotations``."""
    return Done()


def of_another(self: Any, obj: Other, out: OutputSet) -> Result:
    """Take the resource of another controller."""
    return Done()


def of_a_spec(self: Any, obj: ThingSpec, out: OutputSet) -> Result:
    """Take a part of the object."""
    return Done()


def of_any_resource(self: Any, obj: Resource[Any, Any], out: "OutputSet") -> Result:
    """Take any resource."""
    return Done()


BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "the context before the outputs",
        {"a": marked(swapped, initial=True)},
        "Bad.a takes the Context where the OutputSet is passed.\n" + FIX.format("a"),
    ),
    (
        "the context instead of the outputs",
        {"a": marked(swapped_in_text, initial=True)},
        "Bad.a takes the Context where the OutputSet is passed.\n" + FIX.format("a"),
    ),
    (
        "the object of another controller",
        {"a": marked(of_another, initial=True)},
        "Bad.a takes a Other, but its objects are of the class Thing.\n" + FIX.format("a"),
    ),
    (
        "a part of the object",
        {"a": marked(of_a_spec, initial=True)},
        "Bad.a takes a ThingSpec, but its objects are of the class Thing.\n" + FIX.format("a"),
    ),
    (
        "options that are none",
        {"a": marked(initial=True), "options": {"workers": 2}},
        (
            "Bad.options is {'workers': 2}, which is not a ControllerOptions.\n"
            "  fix: write options = ControllerOptions(workers=4)"
        ),
    ),
    (
        "a kind instead of a watch",
        {"a": marked(initial=True), "watches": (int,)},
        (
            "Bad.watches lists <class 'int'>, which is not a Watch.\n"
            "  fix: write watches = (Watch(kinds.CONFIG_MAP, to=...),)"
        ),
    ),
    (
        "a name instead of a channel",
        {"a": marked(initial=True), "channels": "hooks"},
        (
            "Bad.channels lists 'hooks', which is not a Channel.\n"
            '  fix: write channels = (Channel("name"),)'
        ),
    ),
    (
        "an index of no kind",
        {"a": marked(initial=True), "indexes": {"Pod": {}}},
        "Bad.indexes lists 'Pod', which is not a kind.\n" + CONSTANT,
    ),
    (
        "an index of what is not read",
        {"a": marked(initial=True), "indexes": {kinds.POD: {}}},
        ("Bad.indexes lists Pod, which the controller does not read.\n  fix: add it to Bad.reads"),
    ),
]


@pytest.mark.parametrize(("members", "text"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_d2_a_mistake_is_refused_with_its_fix(members: dict[str, Any], text: str) -> None:
    """The error is raised when the class is defined, before anything runs."""
    with pytest.raises(DefinitionError) as caught:
        define(**members)

    assert str(caught.value) == text


def test_d2_a_controller_of_a_class_that_is_not_a_resource_is_refused() -> None:
    """The error says what it was given instead of a resource."""
    with pytest.raises(DefinitionError) as caught:

        class Specs(Controller[ThingSpec]):
            """A controller of a spec."""

    assert str(caught.value).startswith(
        "Specs does not say which resource it controls: ThingSpec is not a Resource or the "
        "model of a built-in kind.\n"
    )


def test_indexes_are_known_by_kind() -> None:
    """Those of the controller's own kind, of what it manages and of what it reads."""
    functions = {"name": lambda obj: [obj["metadata"]["name"]]}
    made = define(
        a=marked(initial=True), reads=kinds.POD, indexes={kinds.POD: functions, Thing: functions}
    )

    assert made.index_functions == {kinds.POD: functions, Thing.KIND: functions}


def test_one_watch_needs_no_comma() -> None:
    """One watch may stand without a tuple, as one kind may; a state may take every resource."""
    watch = Watch(kinds.POD, to=lambda _: ())
    made = define(a=marked(of_any_resource, initial=True), watches=watch)

    assert made.watches == (watch,)
    assert made.read_kinds == (kinds.POD,)
    with pytest.raises(DefinitionError, match="watches lists"):
        define("Bad", a=marked(initial=True), watches=kinds.POD)


USE = '  fix: write `@state()`, or `@state(initial=True, condition="Deployed", then="exposed")`'
TEXT = 'which is not the name of a state.\n  fix: write it as text: then="{}"'


@pytest.mark.parametrize(
    ("misuse", "text"),
    [
        (
            lambda: state(of_any_resource),  # type: ignore[arg-type]
            "@state was given of_any_resource, but it takes keywords only.\n" + USE,
        ),
        (
            lambda: state("Deployed"),  # type: ignore[arg-type]
            "@state was given 'Deployed', but it takes keywords only.\n" + USE,
        ),
        (
            lambda: state(then=of_any_resource),  # type: ignore[arg-type]
            "`then` of a state lists of_any_resource, " + TEXT.format("of_any_resource"),
        ),
        (
            lambda: state(then=["a", swapped]),  # type: ignore[list-item]
            "`then` of a state lists swapped, " + TEXT.format("swapped"),
        ),
    ],
    ids=["bare", "positional", "method", "methods"],
)
def test_d2_a_misused_decorator_says_how_it_is_used(misuse: Any, text: str) -> None:
    """The error shows the right use of the decorator."""
    with pytest.raises(DefinitionError) as caught:
        misuse()

    assert str(caught.value) == text

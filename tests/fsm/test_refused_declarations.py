"""Declarations and results that look right and are not: refused with what is wrong and how to fix it (D2)."""

from collections.abc import Callable
from datetime import timedelta
from types import new_class
from typing import Any

import pytest

from myrmidon import (
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    Watch,
    kinds,
    state,
)
from myrmidon.errors import DefinitionError, NotAKindError, ProgrammingError, StatusError
from myrmidon.fsm.status.status import own_fields


class ThingSpec(Model):
    """What is asked for."""

    size: int = 1


class Thing(Resource[ThingSpec, Status], group="demo.example.com", version="v1"):
    """An object of these tests."""


def done(_self: Any, _thing: Thing, _out: OutputSet) -> Result:
    """Return Done."""
    return Done()


def swapped(_self: Any, out: OutputSet, thing: Thing) -> Result:
    """Return Done, with the parameters in the wrong order."""
    return Done()


def controller(**body: Any) -> Any:
    """Define a controller with these attributes, and a state unless there is one."""
    members = {"made": state(initial=True)(done), **body}
    return new_class("Things", (Controller[Thing],), exec_body=lambda body: body.update(members))


DECLARATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "a kind": (lambda: Controller[kinds.CONFIG_MAP], "kind=kinds.CONFIG_MAP)"),  # type: ignore[valid-type]
    "a number as a name": (lambda: controller(name=5), 'write name = "things"'),
    "a name with a space": (lambda: controller(name="my things"), 'write name = "my-things"'),
    "a name of the framework": (
        lambda: controller(kind=state(condition="Kind")(done)),
        "give the state another name, such as kind_done",
    ),
    "a condition that is not a text": (
        lambda: state(condition=True),  # type: ignore[arg-type]
        'write condition="Deployed"',
    ),
    "a text for yes": (lambda: state(finalizer="yes"), "write finalizer=True"),  # type: ignore[arg-type]
    "two names in one text": (lambda: state(then="a, b"), 'write then=("a", "b")'),
    "a static method": (
        lambda: controller(made=staticmethod(state(initial=True)(done))),
        "write `def made(self, obj, out) -> Result`",
    ),
    "parameters in the other order": (
        lambda: controller(made=state(initial=True)(swapped)),
        "write `def made(self, obj, out) -> Result`",
    ),
    "a field as a predicate": (
        lambda: Watch(kinds.POD, to=lambda _pod: [], when="data"),  # type: ignore[arg-type]
        'write when=changed("data")',
    ),
    "a value as a predicate": (
        lambda: Watch(kinds.POD, to=lambda _pod: [], when=5),  # type: ignore[arg-type]
        'write when=changed("spec")',
    ),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_d2_a_declaration_that_cannot_be_meant(name: str) -> None:
    """With the text to write instead."""
    declare, fix = DECLARATIONS[name]

    with pytest.raises(DefinitionError) as caught:
        declare()

    assert f"\n  fix: {fix}" in str(caught.value) or fix in str(caught.value)


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "a method": (lambda: Done(goto=done), 'write Done(goto="done")'),  # type: ignore[arg-type]
    "a number": (lambda: Done(goto=5), "write the name of the next state as text"),  # type: ignore[arg-type]
    "a Wait": (lambda: Done(Wait("Slow")), "write Done(recheck=Wait(...))"),  # type: ignore[arg-type]
    "a time as the message": (
        lambda: Wait("Slow", timedelta(seconds=5)),  # type: ignore[arg-type]
        "write after=datetime.timedelta(seconds=5)",
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_d3_a_result_that_cannot_be_meant(name: str) -> None:
    """It is raised in the line of the state that makes it."""
    make, fix = RESULTS[name]

    with pytest.raises(ProgrammingError) as caught:
        make()

    assert f"\n  fix: {fix}" in str(caught.value)


def test_d3_conditions_that_a_state_has_changed() -> None:
    """The framework writes them; a change by hand would be lost."""
    thing = Thing.from_json({"metadata": {"name": "a"}, "spec": {}, "status": {"conditions": []}})
    thing.status.conditions.append({"type": "Mine", "status": "True"})

    with pytest.raises(StatusError, match=r"fix: return Done\(condition="):
        own_fields(thing)


def test_d3_a_value_that_is_not_a_kind_is_named() -> None:
    """The fix is how to name a kind, not where to declare it."""
    assert "fix: use a constant of myrmidon.kinds" in str(NotAKindError("Things", "made", "Pod"))

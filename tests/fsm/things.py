"""The resource and the machines that tests of the core are about."""

from collections.abc import Callable, Iterable
from types import new_class
from typing import Any

from myrmidon.api import Kind, Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, Done, Graph, Result, state
from myrmidon.fsm.graph import checked_graph
from myrmidon.fsm.states import State
from myrmidon.sets import OutputSet


class ThingSpec(Model):
    """What a user asks for."""

    size: int = 1
    note: str | None = None


class ThingStatus(Status):
    """What is the case."""

    url: str | None = None


class Thing(Resource[ThingSpec, ThingStatus], group="example.com", version="v1"):
    """A thing."""


class Things(Controller[Thing]):
    """Two states and a finalizer, the machine that most tests need."""

    manages = (kinds.CONFIG_MAP, kinds.SECRET)

    @state(initial=True, condition="Made", then="shown")
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """The thing is made."""
        return Done()

    @state(condition="Shown")
    async def shown(self, thing: Thing, out: OutputSet, ctx: Any) -> Result:
        """The thing is shown."""
        return Done()

    @state(finalizer=True, condition="Forgotten")
    def forgotten(self, thing: Thing, out: OutputSet) -> Result:
        """The thing is forgotten."""
        return Done()


def do_nothing(self: Any, obj: Any, out: OutputSet) -> Result:
    """Be the method of a state."""
    return Done()


def define(called: str = "Bad", /, **members: Any) -> type[Controller[Thing]]:
    """Define a controller; the tests of definitions look at how that fails."""
    made: type[Controller[Thing]] = new_class(
        called, (Controller[Thing],), exec_body=lambda namespace: namespace.update(members)
    )
    return made


def marked(method: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a fresh function as a state; ``@state`` writes on the function that it gets."""
    fresh: Any = method
    if fresh is None:

        def fresh(self: Any, obj: Any, out: OutputSet) -> Result:
            """Hold."""
            return Done()

    return state(**options)(fresh)


def graph_of(states: Iterable[State]) -> Graph:
    """The checked graph of these states."""
    return checked_graph("Drawn", states)


KIND: Kind = Thing.KIND

"""The resource and the controllers that the tests of fsm use."""

from collections.abc import Callable, Iterable
from types import new_class
from typing import Any

from myrmidon.api import Kind, Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, Done, Graph, Result, state
from myrmidon.fsm.machine.graph import checked_graph
from myrmidon.fsm.machine.states import State
from myrmidon.sets import OutputSet


class ThingSpec(Model):
    """What a user asks for."""

    size: int = 1
    note: str | None = None


class ThingStatus(Status):
    """What the controller has observed."""

    url: str | None = None


class Thing(Resource[ThingSpec, ThingStatus], group="example.com", version="v1"):
    """A thing."""


class Things(Controller[Thing]):
    """A controller with two states and a finalizer, which most tests use."""

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
    """Do nothing; for states whose method does not matter."""
    return Done()


def define(called: str = "Bad", /, **members: Any) -> type[Controller[Thing]]:
    """Define a controller class; raises what a bad definition raises."""
    made: type[Controller[Thing]] = new_class(
        called, (Controller[Thing],), exec_body=lambda namespace: namespace.update(members)
    )
    return made


def marked(method: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a new function as a state, because ``@state`` writes to the function that it gets."""
    fresh: Any = method
    if fresh is None:

        def fresh(self: Any, obj: Any, out: OutputSet) -> Result:
            """Hold."""
            return Done()

    return state(**options)(fresh)


def graph_of(states: Iterable[State]) -> Graph:
    """Return the checked graph of these states."""
    return checked_graph("Drawn", states)


KIND: Kind = Thing.KIND

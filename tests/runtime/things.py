"""A controller whose states do what a test tells them."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any, ClassVar, Final, TypeAlias

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import Condition
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Cluster


class ThingSpec(Model):
    """What a Thing asks for."""

    value: str = "a"
    size: int = 1


class ThingStatus(Status):
    """A field that states set."""

    note: str | None = None


class Thing(Resource[ThingSpec, ThingStatus], group="test.myrmidon.dev", version="v1"):
    """The resource of the tests."""


Act: TypeAlias = Callable[[Thing, OutputSet, Context], Any]


def done(_thing: Thing, _out: OutputSet, _ctx: Context) -> Result:
    """Return Done."""
    return Done()


class Things(Controller[Thing]):
    """Two states, each a function of the test."""

    manages: ClassVar[tuple[Any, ...]] = (
        kinds.CONFIG_MAP,
        kinds.CLUSTER_ROLE,
        kinds.SERVICE,
        kinds.SECRET,
    )

    def __init__(self, first: Act = done, second: Act = done, **options: Any) -> None:
        self._first, self._second = first, second
        if options:
            self.options = ControllerOptions(**options)  # type: ignore[misc]

    @state(initial=True, condition="First", then="second")
    async def first(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The first thing holds."""
        return await _outcome(self._first(thing, out, ctx))

    @state(condition="Second")
    async def second(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The second thing holds."""
        return await _outcome(self._second(thing, out, ctx))


class FinalThings(Things):
    """The same, with a finalizer."""

    def __init__(
        self, first: Act = done, second: Act = done, last: Act = done, **options: Any
    ) -> None:
        super().__init__(first, second, **options)
        self._last = last

    @state(finalizer=True, condition="Last")
    async def last(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The last thing is done."""
        return await _outcome(self._last(thing, out, ctx))


def thing(name: str = "it", **spec: Any) -> Thing:
    """A Thing."""
    return Thing(name=name, spec=ThingSpec(**spec))


def config_map(name: str, value: str = "a", **metadata: Any) -> Json:
    """Build the smallest child."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"value": value},
    }


WAYS: Final[dict[str, dict[str, Any]]] = {
    "merge": {},
    "update": {"as_update": True},
    "server-side": {"server_side": True, "force": True},
    "tracked": {"owner_refs": False},
    "create-only": {"create_only": True},
}
"""Options of ``out.apply`` for each way to write an output."""


def applying(**options: Any) -> Act:
    """A state that applies the ConfigMap ``child`` with the value of its parent."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child", it.spec.value), **options)
        return Done()

    return act


def first(cluster: Cluster) -> Condition:
    """The condition of the first state of the Thing ``it``."""
    condition = cluster.condition(Thing, "it", "First")
    assert condition is not None
    return condition


def events(cluster: Cluster, reason: str) -> list[str]:
    """The messages of all Events with that reason."""
    return [event["message"] for event in cluster.list(kinds.EVENT) if event["reason"] == reason]


async def _outcome(returned: Any) -> Result:
    result: Result = await returned if isawaitable(returned) else returned
    return result

"""Rolling replacement and adoption by selector, end to end."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, labels_of, name_of, owners_of
from myrmidon.fsm import (
    Controller,
    ControllerOptions,
    Done,
    Result,
    adopt_by_selector,
    revised,
    rolling,
    state,
)
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

MAP = kinds.CONFIG_MAP


def is_up(child: Json) -> bool:
    """Whether the test has annotated a child as ready."""
    return "up" in (child["metadata"].get("annotations") or {})


class Fleets(Controller[Thing]):
    """Replaces its children one by one."""

    manages: ClassVar[tuple[Any, ...]] = (MAP,)
    options = ControllerOptions(prune=True)
    surge: ClassVar[int] = 0

    @state(initial=True, condition="RolledOut")
    async def rolled_out(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        """All children are current and ready."""
        wanted = [config_map(f"c{i}", it.spec.value, labels={"of": "it"}) for i in range(3)]
        if self.surge:
            wanted = [revised(one) for one in wanted]
        return rolling(
            wanted,
            await ctx.list(MAP, labels={"of": "it"}),
            max_unavailable=0 if self.surge else 1,
            max_surge=self.surge,
            is_ready=is_up,
        ).into(out)


class Surging(Fleets):
    """Creates new children before it deletes old ones."""

    surge = 1


def children(cluster: Harness) -> list[Json]:
    """Return the children that exist."""
    return [one for one in cluster.list(MAP) if labels_of(one).get("of") == "it"]


@pytest.mark.law("G8")
@pytest.mark.parametrize("controller", [Fleets, Surging])
def test_children_are_replaced_while_enough_stay_ready(controller: type[Fleets]) -> None:
    """One becomes ready at a time; never fewer are ready, or more exist, than allowed."""
    least, most = (3, 4) if controller.surge else (2, 3)
    with Harness(controller()) as cluster:
        cluster.apply(thing())
        for value in ("a", "b"):
            cluster.patch(Thing, "it", {"spec": {"value": value}})
            for _ in range(30):
                cluster.advance(timedelta(minutes=1))
                ready = [one for one in children(cluster) if is_up(one)]
                assert len(children(cluster)) <= most
                assert value == "a" or len(ready) >= least
                waiting = [one for one in children(cluster) if not is_up(one)]
                if waiting:
                    up = {"metadata": {"annotations": {"up": "yes"}}}
                    cluster.patch(MAP, name_of(waiting[0]), up)
            cluster.settle()
            assert cluster.ready(Thing, "it")
            assert [one["data"]["value"] for one in children(cluster)] == [value] * 3
        cluster.at_rest()


def test_objects_are_adopted_and_released_by_their_labels() -> None:
    """Their content stays; an adopted object is deleted with the parent, a released one stays."""

    async def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        adopt_by_selector(it, await ctx.list(MAP), "colour=red", out)
        return Done()

    with Harness(Things(act)) as cluster:
        for name in ("one", "two"):
            cluster.apply(config_map(name, "theirs", labels={"colour": "red"}))
        cluster.apply(config_map("three", "theirs", labels={"colour": "blue"}))
        cluster.apply(thing())
        cluster.settle()
        assert [name_of(one) for one in cluster.list(MAP) if owners_of(one)] == ["one", "two"]
        cluster.at_rest()

        cluster.patch(MAP, "two", {"metadata": {"labels": {"colour": "blue"}}})
        cluster.settle()
        assert not owners_of(cluster.require(MAP, "two"))
        assert {one["data"]["value"] for one in cluster.list(MAP) if "value" in one["data"]} == {
            "theirs"
        }
        assert [ref["name"] for ref in cluster.require(Thing, "it").status.resource_refs] == ["one"]

        cluster.delete(Thing, "it")
        cluster.settle()
        left = {name_of(one) for one in cluster.list(MAP)}
        assert "one" not in left
        assert {"two", "three"} <= left

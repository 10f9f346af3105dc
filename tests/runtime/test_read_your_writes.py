"""A state reads what an earlier state of the same pass wrote, however late the watch events are."""

from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Stall
from tests.runtime.things import Thing, Things, config_map, thing

MAP = kinds.CONFIG_MAP


def test_a_create_a_change_and_a_delete_are_seen_by_the_next_state() -> None:
    """The watch of the kind delivers nothing."""
    seen: list[Any] = []

    def first(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.spec.value == "gone":
            out.delete(MAP, "child")
        else:
            out.apply(config_map("child", it.spec.value))
        return Done()

    async def second(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
        child = await ctx.get(MAP, "child")
        seen.append(child and child["data"]["value"])
        return Done()

    with Harness(Things(first, second), faults=silent_watch) as cluster:
        cluster.apply(thing(value="a"))
        cluster.settle()
        for value in ("b", "gone", "c"):
            cluster.patch(Thing, "it", {"spec": {"value": value}})
            cluster.settle()

    assert seen == ["a", "b", None, "c"]


def silent_watch(request: HttpRequest) -> Fault | None:
    """Let every watch of ConfigMaps be connected and silent."""
    watches = ("watch", "true") in request.query and request.path.endswith("/configmaps")
    return Stall() if watches else None

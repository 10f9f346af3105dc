"""Q12: memory depends on the objects that exist, not on deleted ones or on the number of passes."""

from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.fsm import Done, Failed, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

HOUR = timedelta(hours=1)


def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
    """Apply a child, record an event, and fail if the spec says so."""
    out.apply(config_map(it.name, it.spec.value))
    ctx.event("Normal", "Seen", f"value {it.spec.value}")
    return Failed("Bad", "no") if it.spec.value == "bad" else Done()


def tables(one: Any, path: str, seen: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    """Return every container that objects of the runtime hold, with the path to it."""
    if id(one) in seen:
        return
    seen[id(one)] = one
    if type(one).__module__.startswith(("myrmidon.runtime", "myrmidon.io.writes.own_writes")):
        names = [*getattr(one, "__dict__", {}), *getattr(type(one), "__slots__", ())]
        for name in names:
            if hasattr(one, name):
                yield from tables(getattr(one, name), f"{path}.{name}", seen)
    elif isinstance(one, dict | list | set | deque):
        yield path, one
        for value in one.values() if isinstance(one, dict) else one:
            yield from tables(value, path, seen)


# They have a fixed bound: the writes of the last 4096 passes.
BOUNDED = ("_own_writes._written",)


def remembered(cluster: Harness) -> list[str]:
    """Return the tables that still have a Thing called ``gone-...``."""
    (loop,) = cluster.manager.loops
    return [
        path
        for path, table in tables(loop, "loop", {})
        if "gone-" in repr(list(table)) and not path.endswith(BOUNDED)
    ]


@pytest.mark.parametrize("controller", [Things, FinalThings])
@pytest.mark.parametrize("value", ["a", "bad"])
def test_q12_nothing_is_kept_of_a_deleted_object(controller: Any, value: str) -> None:
    """Queue, backoff, metrics, cache and own writes have no trace of it after an hour."""
    with Harness(controller(act), options=ManagerOptions(seed=0)) as cluster:
        cluster.apply(thing("stays"))
        for number in range(5):
            cluster.apply(thing(f"gone-{number}", value=value))
        cluster.advance(HOUR)
        assert remembered(cluster)  # it finds what is there
        for number in range(5):
            cluster.delete(Thing, f"gone-{number}")
        cluster.advance(HOUR)
        assert [one.name for one in cluster.list(Thing)] == ["stays"]

        assert remembered(cluster) == []

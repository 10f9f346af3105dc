"""How many objects of one controller have a pass at the same time."""

from datetime import timedelta

import pytest

from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, thing


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_as_many_objects_as_workers_and_no_object_twice(workers: int) -> None:
    """Ten objects are due; one of them changes while its pass is under way."""
    under_way: list[str] = []
    most: list[int] = []
    twice: list[str] = []

    async def act(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        if it.name in under_way:
            twice.append(it.name)
        under_way.append(it.name)
        most.append(len(under_way))
        await cluster.clock.sleep(10)
        under_way.remove(it.name)
        return Done()

    with Harness(Things(act, workers=workers)) as cluster:
        for number in range(10):
            cluster.apply(thing(f"t{number}"))
        cluster.advance(timedelta(seconds=5))
        cluster.patch(Thing, under_way[0], {"spec": {"value": "b"}})
        cluster.advance(timedelta(minutes=5))

        assert all(cluster.ready(Thing, f"t{number}") for number in range(10))
    assert max(most) == workers
    assert len(most) == 11, "the change was not lost"
    assert twice == []

"""Fields of the status that a state sets."""

from typing import Any

import pytest

from myrmidon.fsm import Done, Failed, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, first, thing


@pytest.mark.parametrize("result", [Wait("Slow", "x"), Failed("Bad", "x"), None], ids=repr)
def test_they_are_written_whatever_the_state_returns_and_becomes_of_its_outputs(
    result: Result | None,
) -> None:
    """They say what the state saw; whether its outputs are in place is said by its condition."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Any:
        it.status.note = "seen"
        broken = config_map("child")
        broken["data"] = {"not a key": ""}
        out.apply(broken)
        return result or Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.step()

        assert cluster.require(Thing, "it").status.note == "seen"
        assert first(cluster).status == "False"
        assert not cluster.ready(Thing, "it")

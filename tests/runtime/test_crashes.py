"""F15: killed before or after any write, a new process finishes the job."""

from datetime import timedelta

import pytest

from myrmidon.testing import Crash, Harness, Script, is_write
from tests.runtime.lives import FOREIGN, LIFE, calm, created
from tests.runtime.webapps import WebApps, world

WRITES = 18  # in a calm life; the first test holds it to that


def test_calm_life_writes_as_often_as_the_sweep_strikes() -> None:
    """Else the sweep would miss some."""
    assert calm()[0] == WRITES


@pytest.mark.parametrize("acted", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_at_any_write(at: int, *, acted: bool) -> None:
    """After a restart the world is as if nothing had happened: nothing missing, left over, or made twice."""
    _, worlds = calm()
    killer = Script({at: Crash(acted=acted)}, is_write)
    with Harness(WebApps(), manifests=FOREIGN, faults=killer) as cluster:
        restarted = False
        for name, step in LIFE.items():
            step(cluster)
            cluster.settle()
            if cluster.crashed:
                restarted = True
                cluster.restart()
                cluster.settle()
            assert world(cluster) == worlds[name], name

        assert restarted
        assert set(created(cluster).values()) == {1}
        assert cluster.writes_during(timedelta(minutes=10)) == []

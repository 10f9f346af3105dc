"""F15: a process is killed before or after any write, and a new process completes the work."""

from datetime import timedelta

import pytest

from myrmidon.testing import Crash, Harness, Script, is_write
from tests.runtime.lives import FOREIGN, LIFE, calm, created
from tests.runtime.webapps import WebApps, world

WRITES = 18  # in a life without faults; the first test checks the number


def test_the_sweep_covers_every_write_of_a_life_without_faults() -> None:
    """A smaller number would leave writes untested."""
    assert calm()[0] == WRITES


@pytest.mark.parametrize("acted", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_at_any_write(at: int, *, acted: bool) -> None:
    """After a restart no object is missing, left over, or created twice."""
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

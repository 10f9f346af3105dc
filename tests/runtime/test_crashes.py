"""F15: killed before or after any write, a new process finishes the job."""

from datetime import timedelta

import pytest

from myrmidon.api.wire import HttpRequest
from myrmidon.testing import Fault, Harness, Lose, is_write
from tests.runtime.lives import FOREIGN, LIFE, calm, created
from tests.runtime.webapps import WebApps, world

WRITES = 18  # in a calm life; the first test holds it to that


class Killer:
    """Kills the process at its k-th write, before or after the server has acted."""

    def __init__(self, at: int, *, acted: bool) -> None:
        self._at, self._acted = at, acted
        self._writes = 0
        self.cluster: Harness | None = None
        self.struck = False

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Count writes, and strike."""
        if not is_write(request) or self.struck:
            return None
        self._writes += 1
        if self._writes < self._at:
            return None
        assert self.cluster is not None
        self.struck = True
        self.cluster.crash()
        return Lose() if self._acted else None


def test_calm_life_writes_as_often_as_the_sweep_strikes() -> None:
    """Else the sweep would miss some."""
    assert calm()[0] == WRITES


@pytest.mark.parametrize("acted", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_killed_at_any_write(at: int, *, acted: bool) -> None:
    """After a restart the world is as if nothing had happened: nothing missing, left over, or made twice."""
    _, worlds = calm()
    killer = Killer(at, acted=acted)
    with Harness(WebApps(), manifests=FOREIGN, faults=killer) as cluster:
        killer.cluster = cluster
        restarted = False
        for name, step in LIFE.items():
            step(cluster)
            cluster.settle()
            if killer.struck and not restarted:
                restarted = True
                cluster.restart()
                cluster.settle()
            assert world(cluster) == worlds[name], name

        assert restarted
        assert set(created(cluster).values()) == {1}
        assert cluster.writes_during(timedelta(minutes=10)) == []

"""After any faults in any order, the cluster converges to the state of a life without faults."""

from datetime import timedelta
from typing import Literal

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.testing import (
    Break,
    Cut,
    Delay,
    Expire,
    Fault,
    Hang,
    Harness,
    Lose,
    Refuse,
    Stall,
    Status,
    Truncate,
    is_watch,
    is_write,
)
from tests.runtime.lives import FOREIGN, LIFE, calm, created
from tests.runtime.webapps import WebApps, world

Trouble = Fault | Literal["crash"]

SENDING: list[Trouble] = [
    Refuse(),
    Lose(),
    Truncate(),
    Hang(),
    Delay(3.0),
    Status(409, "Conflict"),
    Status(429, "TooManyRequests", retry_after=1),
    Status(429, "TooManyRequests", retry_after=30),
    Status(500, "InternalError"),
    Status(503, "ServiceUnavailable"),
    Status(504, "Timeout"),
    Status(403, "Forbidden"),
    Status(401, "Unauthorized"),
    "crash",
]
WATCHING: list[Trouble] = [
    *(fault(lines) for fault in (Cut, Break, Stall, Expire) for lines in (0, 1, 3)),
    Status(410, "Expired"),
    Status(403, "Forbidden"),
    Status(500),
    Refuse(),
    Lose(),
]


class Storm:
    """Faults by the number of the request or the watch, once the process is up."""

    def __init__(self, requests: dict[int, Trouble], watches: dict[int, Trouble]) -> None:
        self._requests, self._watches = requests, watches
        self._sent = self._watched = 0
        self.cluster: Harness | None = None

    def __call__(self, request: HttpRequest) -> Fault | None:
        """Return the fault of this request."""
        if self.cluster is None:
            return None
        trouble = self._of(request)
        if trouble != "crash":
            return trouble
        self.cluster.crash()
        return Lose()

    def _of(self, request: HttpRequest) -> Trouble | None:
        if is_watch(request):
            self._watched += 1
            return self._watches.get(self._watched)
        if is_write(request) or request.path.count("/") > 4:
            self._sent += 1
            return self._requests.get(self._sent)
        return None


def live_through(storm: Storm) -> None:
    """Run the steps, and compare the clusters after each."""
    _, worlds = calm()
    with Harness(WebApps(), manifests=FOREIGN, faults=storm) as cluster:
        cluster.settle()
        theirs = [cluster.get(kinds.CONFIG_MAP, "theirs"), cluster.get(kinds.SERVICE, "other")]
        storm.cluster = cluster
        for name, step in LIFE.items():
            step(cluster)
            rest(cluster)
            assert world(cluster) == worlds[name], name
        assert set(created(cluster).values()) == {1}
        assert cluster.writes_during(timedelta(minutes=15)) == []
        assert theirs == [
            cluster.get(kinds.CONFIG_MAP, "theirs"),
            cluster.get(kinds.SERVICE, "other"),
        ]


def rest(cluster: Harness) -> None:
    """Settle; a process that crashed is started again, as often as needed."""
    cluster.settle(timedelta(hours=2))
    while cluster.crashed:
        storm, cluster._faults = cluster._faults, None
        cluster.restart()
        cluster.settle(timedelta(hours=2))
        cluster._faults = storm
    cluster.advance(timedelta(minutes=3))  # a stalled watch is noticed after 90 s
    cluster.settle(timedelta(hours=2))


NUMBERS = st.integers(1, 30)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    requests=st.dictionaries(NUMBERS, st.sampled_from(SENDING), max_size=8),
    watches=st.dictionaries(st.integers(1, 20), st.sampled_from(WATCHING), max_size=5),
)
@example(requests={number: Lose() for number in range(1, 19)}, watches={})
@example(requests={number: Truncate() for number in range(1, 19)}, watches={})
@example(requests={number: Status(500) for number in range(1, 19)}, watches={})
def test_any_sequence_of_faults_converges(
    requests: dict[int, Trouble], watches: dict[int, Trouble]
) -> None:
    """One life without and one with the drawn faults: after each step both clusters are equal."""
    live_through(Storm(requests, watches))

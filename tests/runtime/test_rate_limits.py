"""Rate limits of passes: never more passes than allowed, and no wake-up is lost."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from myrmidon import Done, Failed, Result
from myrmidon.runtime.queue.rate_limits import ObjectRate, RetryBudget
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, thing

SECOND = timedelta(seconds=1)
EIGHTHS = st.integers(0, 400).map(lambda count: count / 8)  # exact as floating point numbers


@given(limit=st.integers(1, 5), asked=st.lists(EIGHTHS, max_size=40))
def test_no_object_gets_more_passes_in_a_minute_than_allowed(
    limit: int, asked: list[float]
) -> None:
    """In any 60 seconds; below the limit no object waits."""
    rate, now, began = ObjectRate[str](limit), 0.0, list[float]()
    for gap in asked:
        now = max(now + gap, rate.not_before("a"))
        recent = [at for at in began if at > now - 60]
        assert len(recent) < limit
        if len(recent) < limit - 1:
            assert rate.not_before("a") <= now
        rate.began("a", now)
        began.append(now)
        assert rate.not_before("b") == float("-inf")
    rate.forget("a")
    assert rate.not_before("a") == float("-inf")


@given(
    rate=st.floats(0.1, 50),
    burst=st.integers(1, 20),
    gaps=st.lists(EIGHTHS, min_size=1, max_size=60),
)
def test_a_token_bucket_for_retries(rate: float, burst: int, gaps: list[float]) -> None:
    """In t seconds at most burst + rate * t retries begin; with a full bucket none waits."""
    budget, now, begins = RetryBudget(rate, burst), 0.0, list[float]()
    for gap in gaps:
        now += gap
        at = budget.reserve(now)
        assert at >= now
        begins.append(at)
    assert begins[:burst] == [sum(gaps[: index + 1]) for index in range(min(burst, len(gaps)))]
    assert all(one <= other for one, other in pairwise(begins))
    for index, start in enumerate(begins):
        for count, end in enumerate(begins[index:], 1):
            assert count <= burst + (end - start) * rate + 1e-6


class Counting:
    """A state that records when it ran, and for which value."""

    def __init__(self, result: Result) -> None:
        self.result, self.at, self.values = result, list[float](), list[str]()

    def __call__(self, it: Thing, _out: Any, ctx: Any) -> Result:
        """Run."""
        self.at.append(ctx.now.timestamp())
        self.values.append(it.spec.value)
        return self.result


def test_an_object_that_changes_all_the_time_gets_its_passes_and_the_last_change() -> None:
    """Three passes in a minute; the last written value is seen."""
    first = Counting(Done())
    with Harness(Things(first, passes_per_minute=3)) as cluster:
        cluster.apply(thing())
        cluster.step()
        for number in range(50):
            cluster.patch(Thing, "it", {"spec": {"value": str(number)}})
            cluster.advance(SECOND)
        assert len(first.at) == 3
        cluster.settle()
        assert first.values[-1] == "49"
        assert len(first.at) == 4
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
    assert first.at[3] - first.at[0] >= 60


def test_a_thousand_failing_objects_share_the_budget_and_changes_do_not_wait() -> None:
    """First attempts and changed objects are not delayed; retries run at ten per second."""
    first = Counting(Failed("Broken", "x"))
    options: dict[str, Any] = {"retries_per_second": 10, "retries_burst": 5, "workers": 2}
    with Harness(Things(first, **options)) as cluster:
        for number in range(300):
            cluster.apply(thing(f"it{number}"))
        cluster.step()
        assert len(first.at) == 300, "first attempts are not limited"
        cluster.advance(10 * SECOND)
        retries = len(first.at) - 300
        assert 90 <= retries <= 106
        before = len(first.at)
        cluster.patch(Thing, "it7", {"spec": {"value": "new"}})
        cluster.step()
        assert first.values[before:] == ["new"]
        first.result = Done()
        cluster.settle()
        assert all(cluster.ready(Thing, f"it{number}") for number in range(0, 300, 7))

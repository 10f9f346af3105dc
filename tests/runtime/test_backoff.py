"""Q2: delays grow with consecutive failures of one key, and with nothing else."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.runtime.queue.backoff import Backoff

SHORTEST, LONGEST = timedelta(seconds=1), timedelta(minutes=5)


@given(count=st.integers(1, 5000), chance=st.floats(0, 1))
def test_q2_delays_double_up_to_the_longest(count: int, chance: float) -> None:
    """They vary within the last quarter, and never exceed the maximum."""
    backoff: Backoff[str] = Backoff(SHORTEST, LONGEST, lambda: chance)
    delays = [backoff.failed("a") for _ in range(count)]

    for number, delay in enumerate(delays):
        full = min(2.0 ** min(number, 30), 300.0)
        assert 0.75 * full <= delay <= full
    assert backoff.failures("a") == count


@given(events=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["fail", "ok", "new"]))))
def test_q2_success_and_a_new_generation_reset_one_key(events: list[tuple[str, str]]) -> None:
    """Against a model that counts failures since the last success, per generation."""
    backoff: Backoff[str] = Backoff(SHORTEST, LONGEST, lambda: 1.0)
    failures, generations = {"a": 0, "b": 0}, {"a": 1, "b": 1}
    for key, event in events:
        if event == "new":
            generations[key] += 1
            failures[key] = 0
        elif event == "ok":
            backoff.succeeded(key)
            failures[key] = 0
        else:
            failures[key] += 1
            delay = backoff.failed(key, generations[key])
            assert delay == min(2.0 ** (failures[key] - 1), 300.0)

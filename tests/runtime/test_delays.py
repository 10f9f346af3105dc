"""Delays compared with a dictionary: one time per key, the earliest first, nothing left over."""

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.runtime.queue.delays import Delays

KEYS = st.integers(0, 40)
TIMES = st.integers(0, 20).map(float)
OPERATIONS = st.lists(st.tuples(KEYS, TIMES | st.none()), max_size=200)


@given(OPERATIONS)
def test_q12_one_entry_per_key_and_the_earliest_first(
    operations: list[tuple[int, float | None]],
) -> None:
    """After any operations; None removes a key."""
    delays, model = Delays[int](), dict[int, tuple[float, int]]()
    for number, (key, at) in enumerate(operations):
        if at is None:
            delays.remove(key)
            model.pop(key, None)
        else:
            delays.set(key, at)
            model[key] = (at, number)
        assert len(delays) == len(model)
        assert delays.at(key) == at
        first = min(((order, one) for one, order in model.items()), default=None)
        assert delays.first() == (None if first is None else (first[0][0], first[1]))

    drained = []
    while (found := delays.first()) is not None:
        drained.append(found[1])
        delays.remove(found[1])
    assert drained == sorted(model, key=lambda one: model[one])

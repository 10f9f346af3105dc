"""Q12: what the applicator remembers depends on the objects that exist."""

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.io.writes import bounded_memory
from myrmidon.io.writes.bounded_memory import RecentMemory

COUNT = 5 * bounded_memory.ROOM_MIN


def test_q12_a_resync_finds_all_objects_again() -> None:
    """However many there are: each of them is asked for in turn, and nothing new is decided."""
    memory = RecentMemory[int, int](lambda: COUNT)
    for key in range(COUNT):
        memory.put(key, key)
    for _ in range(3):
        for key in range(COUNT):
            assert memory.get(key) == key


def test_q12_entries_in_use_survive_those_of_objects_that_come_and_go() -> None:
    """Objects that a resync asks for are kept, however many others were remembered in between."""
    memory = RecentMemory[int, int](lambda: 2 * COUNT)
    for key in range(COUNT):
        memory.put(key, key)
    passing = iter(range(COUNT, 100 * COUNT))
    for _ in range(5):
        for key in range(COUNT):
            assert memory.get(key) == key
            assert memory.get(key) == key  # using it once does not use it up
            memory.put(next(passing), 0)


def test_q12_deleted_objects_are_forgotten() -> None:
    """Objects come and go; the memory has room for those that exist, twice."""
    living: dict[int, None] = {}
    memory = RecentMemory[int, int](lambda: len(living))
    for key in range(20 * COUNT):
        living[key] = None
        memory.put(key, key)
        if len(living) > COUNT:
            living.pop(key - COUNT)
        assert memory.get(key - COUNT // 2) in (None, key - COUNT // 2)
    assert len(memory) <= 2 * (COUNT + 1)
    for key in living:
        memory.put(key, key)
    assert all(memory.get(key) == key for key in living)


@given(
    st.lists(st.tuples(st.sampled_from(["put", "get", "pop"]), st.integers(0, 12)), max_size=200),
    st.integers(0, 8),
)
def test_a_memory_never_returns_what_was_not_last_put(
    steps: list[tuple[str, int]], room: int
) -> None:
    """It may forget, and it never makes anything up or returns an older entry."""
    patched = bounded_memory.ROOM_MIN
    bounded_memory.ROOM_MIN = 3
    try:
        memory, truth = RecentMemory[int, int](lambda: room), dict[int, int]()
        for number, (step, key) in enumerate(steps, 1):
            if step == "put":
                memory.put(key, number)
                truth[key] = number
                assert memory.get(key) == number
            elif step == "pop":
                memory.pop(key)
                truth.pop(key, None)
            assert memory.get(key) in (None, truth.get(key))
            assert key in truth or memory.get(key) is None
            assert len(memory) <= 3 * (max(room, 3) + 1)
    finally:
        bounded_memory.ROOM_MIN = patched

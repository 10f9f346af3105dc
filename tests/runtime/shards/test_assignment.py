"""S3 and S4: shares are even, and the fewest possible slices move."""

from collections import Counter
from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.runtime.shards.assignment import Owners, assign
from myrmidon.runtime.shards.shard_map import UNOWNED
from myrmidon.runtime.shards.slices import (
    SLICES,
    ranges_of,
    runs_of,
    slice_of,
    slices_in,
    text_of,
)

NAMES = [f"m{number}" for number in range(9)]
MEMBERS = st.sets(st.sampled_from(NAMES), min_size=1)
RUNS = st.lists(st.tuples(st.sampled_from(["", *NAMES]), st.integers(1, 90)), max_size=40)


def owners_of(runs: list[tuple[str, int]]) -> Owners:
    """Return owners of all slices that have these runs."""
    named = [name for name, length in runs for _ in range(length)]
    return tuple((named + list(UNOWNED))[:SLICES])


def sizes(owners: Owners, members: set[str]) -> list[int]:
    """Return how many slices each member has."""
    counted = Counter(owners)
    return [counted[name] for name in sorted(members)]


@given(runs=RUNS, members=MEMBERS)
@settings(max_examples=60, deadline=None)
def test_s3_s4_shares_are_even_and_the_fewest_slices_move(
    runs: list[tuple[str, int]], members: set[str]
) -> None:
    """Whatever the owners are.  A second assignment moves nothing."""
    owners = owners_of(runs)
    target = assign(owners, members)

    assert set(target) <= members
    assert max(sizes(target, members)) - min(sizes(target, members)) <= 1
    left = [
        number
        for number, owner in enumerate(owners)
        if owner in members and target[number] != owner
    ]
    before = sorted(sizes(owners, members), reverse=True)
    share, extra = divmod(SLICES, len(members))
    over = sum(max(0, size - share - (rank < extra)) for rank, size in enumerate(before))
    assert len(left) == over, "a slice left a living owner without need"
    assert assign(target, members) == target


@given(steps=st.lists(MEMBERS, max_size=8))
@settings(max_examples=30, deadline=None)
def test_s4_members_that_come_and_go_move_no_slices_between_the_others(
    steps: list[set[str]],
) -> None:
    """A slice that moves goes to a new member, or comes from one that is gone."""
    owners, living = UNOWNED, set[str]()
    for members in steps:
        if members >= living or members <= living:
            target = assign(owners, members)
            for old, new in zip(owners, target, strict=True):
                if old in members and old != new:
                    assert new not in living, "it moved between two members that stay"
            owners, living = target, set(members)


@given(steps=st.lists(MEMBERS, min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_s3_a_share_is_a_few_ranges(steps: list[set[str]]) -> None:
    """Also after many rebalances."""
    owners = UNOWNED
    for members in steps:
        owners = assign(owners, members)
    runs = sum(
        len(runs_of(number for number, owner in enumerate(owners) if owner == name))
        for name in steps[-1]
    )
    assert runs <= 6 * len(steps[-1])


@pytest.mark.parametrize("members", [1, 2, 3, 5, 10])
def test_s3_objects_are_spread_within_ten_percent(members: int) -> None:
    """10,000 uids as the API server makes them."""
    draw = Random(1)
    owners = assign(UNOWNED, NAMES[:members] if members <= 9 else [*NAMES, "m9"])
    uids = (str(UUID(int=draw.getrandbits(128), version=4)) for _ in range(10_000))
    counted = Counter(owners[slice_of(uid)] for uid in uids)
    assert all(
        abs(count - 10_000 / members) <= 0.1 * 10_000 / members for count in counted.values()
    )


@given(slices=st.sets(st.integers(0, SLICES - 1)))
@settings(max_examples=50)
def test_slices_as_text_and_as_ranges(slices: set[int]) -> None:
    """A text names the slices, and the ranges cover exactly their hashes."""
    assert slices_in(text_of(slices)) == slices
    width = 2**64 // SLICES
    assert sum(end - start for start, end in ranges_of(slices)) == len(slices) * width
    for number in slices:
        assert any(start <= number * width < end for start, end in ranges_of(slices))


@pytest.mark.parametrize("text", ["x", "3-1", "-1", "256", "0-256", "1-2-3"])
def test_a_text_that_does_not_name_slices_is_refused(text: str) -> None:
    """Such as one that a person wrote."""
    with pytest.raises(ValueError, match=r"\w"):
        slices_in(text)

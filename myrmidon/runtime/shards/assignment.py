"""Assignment: which member should own which slice, from the owners now and the members that live.

The current owners are an input.  A function of the members alone (rendezvous hashing, a ring) would
either leave the shares uneven or move more slices than necessary; with the current owners known, the
shares are equal and the fewest possible slices move:

- a slice stays with its owner as long as the owner lives and does not have more than its share;
- every member has the same share, or one slice more.  If the slices do not divide evenly, those who
  have most keep the extra ones;
- slices without a living owner, and those above a share, go to the members that have too few.

Members that give slices away keep their longest runs, and those that get some are given long runs, so
that each owns a few ranges of the hash space.
"""

from collections.abc import Collection, Sequence

from myrmidon.runtime.shards.slices import runs_of, text_of

Owners = tuple[str, ...]
"""The owner of each slice, "" for none."""


def assign(owners: Sequence[str], members: Collection[str]) -> Owners:
    """Return the owner that each slice should have; the same owners if there are no members."""
    if not members:
        return tuple(owners)
    target = list(owners)
    held: dict[str, list[int]] = {name: [] for name in members}
    free: list[int] = []
    for number, owner in enumerate(owners):
        held.get(owner, free).append(number)
    shares = _shares(held, len(owners))
    for name, slices in held.items():
        free += _surplus(slices, len(slices) - shares[name])
    for name in sorted(members, key=lambda name: (len(held[name]) - shares[name], name)):
        wanted = shares[name] - len(held[name])
        taken = _longest_runs(free, wanted) if wanted > 0 else []
        for number in taken:
            target[number] = name
        free = sorted(set(free) - set(taken))
    return tuple(target)


def moves_text(before: Sequence[str], after: Sequence[str]) -> str:
    """Return which slices went from whom to whom, as one sentence."""
    moved: dict[tuple[str, str], list[int]] = {}
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            moved.setdefault((old, new), []).append(number)
    return "; ".join(
        f"slices {text_of(slices)} from {old or 'no member'} to {new or 'no member'}"
        for (old, new), slices in moved.items()
    )


def _shares(held: dict[str, list[int]], total: int) -> dict[str, int]:
    share, extra = divmod(total, len(held))
    ranked = sorted(held, key=lambda name: (-len(held[name]), name))
    return {name: share + (rank < extra) for rank, name in enumerate(ranked)}


def _surplus(slices: list[int], count: int) -> list[int]:
    """Return ``count`` of the slices to give away: short runs first, and runs from their end."""
    given: list[int] = []
    for run in sorted(runs_of(slices), key=len):
        if count <= len(given):
            break
        given += run[-(count - len(given)) :]
    return given


def _longest_runs(free: list[int], count: int) -> list[int]:
    """Return ``count`` of the free slices, from the longest runs."""
    taken: list[int] = []
    for run in sorted(runs_of(free), key=len, reverse=True):
        if len(taken) >= count:
            break
        taken += run[: count - len(taken)]
    return taken

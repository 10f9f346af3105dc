"""The parts of a process that a member tells of its slices."""

from collections.abc import Coroutine
from typing import Protocol

Work = Coroutine[None, None, None]


class Worked(Protocol):
    """A controller of the process, which works on the objects of some slices."""

    async def gain(self, slices: frozenset[int]) -> None:
        """Queue all objects of slices that this process owns from now on."""

    async def finish(self, slices: frozenset[int], seconds: float) -> None:
        """Forget what is queued of the slices; wait for passes under way, then cancel them."""


async def nothing() -> None:
    """Wait for nothing: a process without caches has all objects."""

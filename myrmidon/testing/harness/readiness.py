"""Whether an object is Ready, wherever its controllers keep their conditions."""

from collections.abc import Iterable, Iterator

from myrmidon.api.objects.accessors import Json, ref_of
from myrmidon.api.objects.conditions import is_ready
from myrmidon.runtime.controller.loop import ControllerLoop


def is_ready_for(loop: ControllerLoop, obj: Json) -> bool:
    """Whether an object is Ready as one of its controllers sees it.

    Without conditions: whether the last pass reached an end and every state holds.
    """
    if loop.home.conditions is None:
        return loop.pool.observing.is_ready(ref_of(loop.controller.kind(), obj))
    return is_ready(loop.home.seen(obj))


def statuses(loops: Iterable[ControllerLoop], obj: Json) -> Iterator[Json]:
    """Yield the object, and once more with the status that each of its controllers keeps."""
    yield obj
    for loop in loops:
        yield loop.home.seen(obj)

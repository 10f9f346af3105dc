"""The objects of all controllers of a process, as their tracers remember them."""

from collections.abc import Iterable

from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.observability.snapshot import ObjectView


def all_views(loops: Iterable[ControllerLoop]) -> tuple[ObjectView, ...]:
    """Return every object of every controller that is traced."""
    return tuple(
        view for loop in loops if loop.tracer is not None for view in loop.tracer.views(loop.traced)
    )


def views_of(loops: Iterable[ControllerLoop], kind: str, key: str) -> list[ObjectView]:
    """Return one object, by ``namespace/name``, as each controller of its kind sees it."""
    found = [
        loop.tracer.view(loop.traced, key)
        for loop in loops
        if loop.tracer is not None and loop.controller.kind().kind == kind
    ]
    return [view for view in found if view is not None]

"""Ready-made states about the objects that an object manages.

Written in the body of the class, they are states like any other::

    class WebApps(Controller[WebApp]):
        settled = when_children_ready(then="announced")
        emptied = delete_children_foreground(finalizer=True, then="deregistered")
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.fsm.context import Context
from myrmidon.fsm.readiness import is_silent
from myrmidon.fsm.results import Done, Result, Wait
from myrmidon.fsm.states import state
from myrmidon.sets.adoption import is_child_of
from myrmidon.sets.output_set import OutputSet
from myrmidon.sets.ownership import Parent

StateMethod: TypeAlias = Callable[[Any, Any, OutputSet, Context], Coroutine[Any, Any, Result]]

_LOOK_AGAIN = timedelta(minutes=1)  # their own events come sooner; this is for those that got lost


def when_children_ready(
    *,
    then: str | Iterable[str] = (),
    condition: str = "ChildrenReady",
    initial: bool = False,
) -> StateMethod:
    """A state that holds when every object that this one manages is ready, by ``ctx.is_ready``.

    A custom kind that never reports a condition ``Ready`` is waited for without end, unless the
    controller says in ``readiness`` what counts for it.
    """

    @state(then=then, condition=condition, initial=initial)
    async def children_ready(_self: Any, _obj: Any, _out: OutputSet, ctx: Context) -> Result:
        """Everything that it manages is ready."""
        children = await ctx.children()
        # One that is gone was not wanted: what this pass applied exists.
        waiting = {
            ref: child
            for ref, child in children.items()
            if child is not None and not ctx.is_ready(child)
        }
        if waiting:
            return Wait("ChildrenNotReady", _waiting_for(waiting), after=_LOOK_AGAIN)
        return Done()

    return children_ready


def _waiting_for(children: Mapping[ObjectRef, Json]) -> str:
    said = f"waiting for {', '.join(map(str, children))}"
    silent = next((ref for ref, child in children.items() if is_silent(child)), None)
    if silent is None:
        return said
    return (
        f"{said}; {silent} has not reported a condition Ready. If {silent.kind} never does, "
        f"say what counts in Controller.readiness"
    )


def delete_children_foreground(
    *,
    then: str | Iterable[str] = (),
    condition: str = "ChildrenDeleted",
    finalizer: bool = False,
) -> StateMethod:
    """A state that deletes everything the object manages, and holds when all of it is gone.

    What is already terminating is not deleted again.  An object that is on record but no longer
    names this one as its parent is neither deleted nor waited for.
    """

    @state(then=then, condition=condition, finalizer=finalizer)
    async def children_deleted(_self: Any, obj: Any, out: OutputSet, ctx: Context) -> Result:
        """Nothing that it managed is left."""
        parent, children = Parent(obj.ref, obj.uid), await ctx.children()
        left = [ref for ref, child in children.items() if child and is_child_of(child, parent)]
        for ref in left:
            out.delete(ref, foreground=True)
        if left:
            return Wait(
                "DeletingChildren",
                f"waiting for {', '.join(map(str, left))} to be gone",
                after=_LOOK_AGAIN,
                keep_outputs=True,
            )
        return Done()

    return children_deleted

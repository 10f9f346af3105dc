"""Ready-made states that wait for an object's children, or delete them.

Assign them in the body of the class; they are then states like any other::

    class WebApps(Controller[WebApp]):
        settled = when_children_ready(then="announced")
        emptied = delete_children_foreground(finalizer=True, then="deregistered")
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.context import Context
from myrmidon.fsm.readiness import is_silent
from myrmidon.fsm.results import Done, Result, Wait
from myrmidon.fsm.states import state
from myrmidon.sets.adoption import is_child_of
from myrmidon.sets.output_set import OutputSet
from myrmidon.sets.ownership import Parent

StateMethod: TypeAlias = Callable[[Any, Any, OutputSet, Context], Coroutine[Any, Any, Result]]

_LOOK_AGAIN = timedelta(minutes=1)  # in case a child's watch event is missed


def when_children_ready(
    *,
    then: str | Iterable[str] = (),
    condition: str = "ChildrenReady",
    initial: bool = False,
) -> StateMethod:
    """Return a state that is done when every child of the object is ready (``ctx.is_ready``).

    A child of a custom kind that never reports a condition ``Ready`` or ``Available`` is waited for
    forever, unless ``Controller.readiness`` has a rule for its kind.
    """

    @state(then=then, condition=condition, initial=initial)
    async def children_ready(_self: Any, _obj: Any, _out: OutputSet, ctx: Context) -> Result:
        """All children are ready."""
        children = await ctx.children()
        # A missing child is left over from an earlier pass: everything this pass applied exists.
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
    """Return a state that deletes all children of the object, and is done when they are gone.

    Each is deleted with foreground propagation, so it goes after everything that it owns.  A child
    that is already terminating is only waited for.  An object in ``status.resourceRefs`` that no
    longer names this one as its parent is neither deleted nor waited for.
    """

    @state(then=then, condition=condition, finalizer=finalizer)
    async def children_deleted(_self: Any, obj: Any, out: OutputSet, ctx: Context) -> Result:
        """All children are gone."""
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

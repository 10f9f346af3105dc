"""Ready-made states that wait for an object's children, or delete them.

Assign them in the body of the class; they are then states like any other::

    class WebApps(Controller[WebApp]):
        settled = when_children_ready(then="announced")
        emptied = delete_children_foreground(finalizer=True, then="deregistered")
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import timedelta
from types import FunctionType
from typing import Any, TypeAlias
from weakref import WeakSet

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm.children.readiness import ReadinessRule, is_silent
from myrmidon.fsm.context import Context
from myrmidon.fsm.machine.results import Done, Result, Wait
from myrmidon.fsm.machine.states import state
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.ownership.adoption import is_child_of
from myrmidon.sets.ownership.owner_references import Parent

StateMethod: TypeAlias = Callable[[Any, Any, OutputSet, Context], Coroutine[Any, Any, Result]]

_BY_READINESS: WeakSet[Callable[..., Any]] = WeakSet()
"""The states of ``when_children_ready`` without a rule of their own."""
_LOOK_AGAIN = timedelta(minutes=1)  # in case a child's watch event is missed


def when_children_ready(
    *,
    then: str | Iterable[str] = (),
    condition: str = "ChildrenReady",
    initial: bool = False,
    ready: ReadinessRule | None = None,
) -> StateMethod:
    """Return a state that is done when every child of the object is ready.

    ``ready`` is a function from a child to whether it is ready; default: ``ctx.is_ready``, the rule
    of its kind.  A child of a custom kind that never reports a condition ``Ready`` or ``Available``
    is waited for forever, unless ``ready`` or ``Controller.readiness`` has another rule.
    """

    @state(then=then, condition=condition, initial=initial)
    async def children_ready(_self: Any, _obj: Any, _out: OutputSet, ctx: Context) -> Result:
        """All children are ready."""
        children = await ctx.children()
        # A missing child is left over from an earlier pass: everything this pass applied exists.
        waiting = {
            ref: child
            for ref, child in children.items()
            if child is not None and not (ready or ctx.is_ready)(child)
        }
        if waiting:
            told = _named(waiting) if ready else _waiting_for(waiting)
            return Wait("ChildrenNotReady", told, after=_LOOK_AGAIN)
        return Done()

    if ready is None:
        _BY_READINESS.add(children_ready)
    return children_ready


def waits_for_children(controller: type) -> bool:
    """Whether a controller has a state of ``when_children_ready`` that uses the rules of the kinds."""
    attributes = (value for base in controller.__mro__ for value in vars(base).values())
    return any(isinstance(one, FunctionType) and one in _BY_READINESS for one in attributes)


def _named(children: Iterable[ObjectRef]) -> str:
    return f"waiting for {', '.join(map(str, children))}"


def _waiting_for(children: Mapping[ObjectRef, Json]) -> str:
    said = _named(children)
    silent = next((ref for ref, child in children.items() if is_silent(child)), None)
    if silent is None:
        return said
    return (
        f"{said}; {silent} has not reported a condition Ready. If {silent.kind} never does, "
        f"say what counts in Controller.readiness"
    )


def delete_children_in_reverse(
    *,
    then: str | Iterable[str] = (),
    condition: str = "ChildrenDeleted",
    finalizer: bool = False,
) -> StateMethod:
    """Return a state that deletes the children in reverse order, one group after another.

    The order is that of ``status.resourceRefs``, in which states first applied them.  Neighbours of
    one kind are one group.  A group is deleted, with foreground propagation, when the one after it
    is gone; the state is done when all are gone.
    """

    @state(then=then, condition=condition, finalizer=finalizer)
    async def children_deleted(_self: Any, obj: Any, out: OutputSet, ctx: Context) -> Result:
        """All children are gone."""
        left = _ours(obj, await ctx.children())
        return _deleting(last_group(left), out, len(left))

    return children_deleted


def last_group(refs: Sequence[ObjectRef]) -> list[ObjectRef]:
    """Return the references at the end that have the kind of the last one."""
    group: list[ObjectRef] = []
    for ref in reversed(refs):
        if group and ref.kind != group[0].kind:
            break
        group.append(ref)
    return group


def _ours(obj: Any, children: Mapping[ObjectRef, Json | None]) -> list[ObjectRef]:
    """Return the children that exist and name the object as their parent."""
    parent = Parent(obj.ref, obj.uid)
    return [ref for ref, child in children.items() if child and is_child_of(child, parent)]


def _deleting(refs: Sequence[ObjectRef], out: OutputSet, left: int) -> Result:
    for ref in refs:
        out.delete(ref, propagation="Foreground")
    if not refs:
        return Done()
    more = f", then {left - len(refs)} more" if left > len(refs) else ""
    return Wait(
        "DeletingChildren",
        f"waiting for {', '.join(map(str, refs))} to be gone{more}",
        after=_LOOK_AGAIN,
        keep_outputs=True,
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
        left = _ours(obj, await ctx.children())
        return _deleting(left, out, len(left))

    return children_deleted

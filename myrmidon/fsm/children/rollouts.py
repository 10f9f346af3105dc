"""rolling: replace children one after another, so that enough of them stay ready.

Children whose manifest has changed are deleted and created again, like the Pods of a StatefulSet or
a Deployment.  ``rolling`` looks at the children that exist and says what to apply and what to
delete now; the state calls it in every pass until it is done::

    @state(condition="RolledOut")
    async def rolled_out(self, fleet: Fleet, out: OutputSet, ctx: Context) -> Result:
        ships = [ship(fleet, number) for number in range(fleet.spec.size)]
        existing = await ctx.list(Ship.KIND, labels={"fleet": fleet.name})
        return rolling(ships, existing, is_ready=ctx.is_ready).into(out)

Each child carries the hash of its manifest in the label ``myrmidon.dev/revision``.  A child is
*current* if it is wanted and has that revision; any other is *old*.  The rules:

1. A ready old child is deleted only if at least ``wanted - max_unavailable`` ready ones are left.
   One that is not ready may go at any time, and goes first.
2. A child is created only while fewer than ``wanted + max_surge`` exist.  Those that are being
   deleted count until they are gone.
3. Current children are applied in every pass, so that changes by others are reverted.

With fixed names a child can be created only when the old one of its name is gone, so
``max_unavailable`` must be at least 1.  With ``revised`` the name of each child ends in its
revision; then ``max_surge`` lets new ones come before old ones go.  A new revision that does not
become ready stops the replacement, by rule 1.

Children become unready by themselves, too; no rule can prevent that.  While ``rolling`` waits, the
walk does not reach its end, so nothing is pruned.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json, describe, is_deleting, labels_of, metadata, name_of
from myrmidon.errors import OutputError
from myrmidon.fsm.children.readiness import is_ready as ready_by_kind
from myrmidon.fsm.machine.results import Done, Result, Wait
from myrmidon.sets.fingerprints import fingerprint
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.sets.outputs.output_set import OutputSet

REVISION = "myrmidon.dev/revision"  # label: the hash of the manifest that a child was made from

_LOOK_AGAIN = timedelta(minutes=1)  # in case a child's watch event is missed
_TOLD_MAX = 3


class Rollout(NamedTuple):
    """What to do now, and the result of the state."""

    apply: tuple[Json, ...]
    delete: tuple[Json, ...]
    result: Result

    def into(self, out: OutputSet, **options: Any) -> Result:
        """Put the outputs into the set, with these options of ``out.apply``; return the result."""
        out.apply_all(self.apply, **options)
        for child in self.delete:
            out.delete(child)
        return self.result


def rolling(
    wanted: Iterable[Any],
    existing: Iterable[Any],
    *,
    max_unavailable: int = 1,
    max_surge: int = 0,
    is_ready: Callable[[Json], bool] = ready_by_kind,
) -> Rollout:
    """Return the next step from the existing children to the wanted ones.

    - ``wanted``: the manifests of all children, each with a name of its own.
    - ``existing``: all children that exist, as the caller read them; none of another parent.
    - ``max_unavailable``: how many fewer than wanted may be ready at a time.  Default: 1.
    - ``max_surge``: how many more than wanted may exist at a time.  Default: 0.
    - ``is_ready``: whether a child is ready; pass ``ctx.is_ready`` to use the controller's rules.
    """
    manifests = {name_of(one): one for one in map(_labelled, wanted)}
    children = {name_of(one): one for one in map(_json, existing)}
    _check(max_unavailable, max_surge)
    current = [name for name in manifests if _is_current(children.get(name), manifests[name])]
    old = [child for name, child in children.items() if name not in current]
    _check_names(old, manifests, max_unavailable)
    ready = {name for name, child in children.items() if not is_deleting(child) and is_ready(child)}

    going = _to_delete(old, ready, len(ready) - (len(manifests) - max_unavailable))
    room = max(0, len(manifests) + max_surge - len(children))
    missing = [name for name in manifests if name not in children][:room]
    applied = tuple(manifests[name] for name in (*current, *missing))
    waiting = [name for name in manifests if name not in current or name not in ready]
    return Rollout(applied, going, _result(waiting, old, len(manifests)))


def revised(manifest: Any) -> Json:
    """Return the manifest with its revision at the end of its name, for ``max_surge``."""
    made = _labelled(manifest)
    name = f"{name_of(made)}-{labels_of(made)[REVISION]}"
    return {**made, "metadata": {**made["metadata"], "name": name}}


def _to_delete(old: list[Json], ready: set[str], spare: int) -> tuple[Json, ...]:
    """Return the old children to delete: all that are not ready, and as many others as spare."""
    staying = [child for child in old if not is_deleting(child)]
    unready = [child for child in staying if name_of(child) not in ready]
    others = [child for child in staying if name_of(child) in ready]
    return (*unready, *others[: max(0, spare)])


def _result(waiting: list[str], old: list[Json], wanted: int) -> Result:
    if not waiting and not old:
        return Done()
    left = ", ".join(
        (*waiting, *(name_of(child) for child in old if name_of(child) not in waiting))[:_TOLD_MAX]
    )
    return Wait(
        "RollingOut",
        f"{wanted - len(waiting)} of {wanted} are current and ready, {len(old)} are old; "
        f"waiting for {left}",
        after=_LOOK_AGAIN,
        keep_outputs=True,
    )


def _is_current(child: Json | None, manifest: Json) -> bool:
    if child is None or is_deleting(child):
        return False
    return labels_of(child).get(REVISION) == labels_of(manifest)[REVISION]


def _labelled(wanted: Any) -> Json:
    """Return the manifest with the label of its revision; one that has the label keeps it."""
    manifest = manifest_of(wanted)
    labels = labels_of(manifest)
    if REVISION in labels:
        return manifest
    with_revision = {**labels, REVISION: fingerprint(manifest)}
    return {**manifest, "metadata": {**metadata(manifest), "labels": with_revision}}


def _json(child: Any) -> Json:
    found: Json = getattr(child, "raw", child)
    return found


def _check(max_unavailable: int, max_surge: int) -> None:
    if max_unavailable < 0 or max_surge < 0 or max_unavailable + max_surge == 0:
        raise OutputError(
            f"rolling with max_unavailable={max_unavailable} and max_surge={max_surge} can replace "
            "no child.\n  fix: let one of them be 1 or more"
        )


def _check_names(old: list[Json], manifests: Mapping[str, Json], max_unavailable: int) -> None:
    """Raise if an old child has the name of a wanted one and may not be deleted before it."""
    staying = (child for child in old if not is_deleting(child))
    blocking = next((child for child in staying if name_of(child) in manifests), None)
    if blocking is not None and not max_unavailable:
        raise OutputError(
            f"{describe(blocking)} has the name of its successor, so it must go first, and "
            "max_unavailable=0 does not allow that.\n"
            "  fix: let max_unavailable be 1 or more, or name children by revised(manifest)"
        )

"""O6: what others wrote stays: their finalizers, labels, annotations and objects.

A controller may remove what it, or another replica of it, has added.  Everything else belongs to the user or to other
programs: a finalizer that vanishes early lets an object go before its cleanup was done.
"""

from collections.abc import Sequence

from myrmidon.api.objects.accessors import (
    Json,
    controller_of,
    labels_of,
    namespace_of,
    owners_of,
)
from myrmidon.testing.simulation.embedded import DRIFT, MARK
from myrmidon.testing.simulation.meddling import FOREIGN
from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.run import Run


def check_foreign(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if a controller removed what it had not added, or deleted what was not its own."""
    added: dict[tuple[str, int], set[str]] = {}
    uids = {one.uid for one in changes if one.verb == "create"}
    for change in changes:
        if not change.by_controller:
            continue
        if change.before is not None:
            _check_taken(run, change)
        if change.deleted:
            _check_deleted(run, change, uids)
            continue
        before, after = _entries(change.before), _entries(change.after)
        if before == after:
            continue
        deployment = id(run.processes[change.process].group)
        mine = added.setdefault((change.uid, deployment), set())
        mine |= after - before
        _check_removed(run, change, sorted(before - after - mine))


def _check_removed(run: Run, change: JudgedChange, removed: list[str]) -> None:
    for entry in removed:
        run.fail(
            "O6",
            f"{entry} of {change.name}",
            f"the controller removed the {entry} of {change.name}",
        )


def _check_taken(run: Run, change: JudgedChange) -> None:
    """Fail if the object is one that a fault of the plan has put in the place of ours."""
    if FOREIGN in labels_of(change.before or {"metadata": {}}):
        run.fail(
            "O6",
            change.name,
            f"the controller {change.verb}d {change.name}, which belongs to another owner",
        )


def _check_deleted(run: Run, change: JudgedChange, uids: set[str]) -> None:
    owner = controller_of(change.after)
    if owner is not None and str(owner.get("uid")) not in uids:
        run.fail(
            "O6",
            change.name,
            f"the controller deleted {change.name}, which {owner.get('name')} owns",
        )


def _entries(obj: Json | None) -> set[str]:
    if obj is None:
        return set()
    meta = obj["metadata"]
    found = {f"finalizer {one}" for one in meta.get("finalizers") or ()}
    for key in meta.get("labels") or ():
        if key not in (MARK, DRIFT):
            found.add(f"label {key}")
    for key in meta.get("annotations") or ():
        found.add(f"annotation {key}")
    return found


def check_owners(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if a controller wrote an ownerReference that the garbage collector cannot follow.

    An owner is cluster-scoped or in the namespace of its dependent.  The garbage collector takes an
    owner in another namespace for one that is gone, and deletes the dependent, sooner or later.
    """
    living: dict[str, Json] = {}
    for change in changes:
        living[change.uid] = change.after
        if not change.by_controller or change.deleted:
            continue
        for reference in owners_of(change.after):
            owner = living.get(str(reference.get("uid")))
            if owner is None or namespace_of(owner) in ("", namespace_of(change.after)):
                continue
            run.fail(
                "O6",
                f"owner of {change.name}",
                f"{change.name} has an owner in another namespace, {namespace_of(owner)}: the garbage "
                "collector deletes it although its owner lives",
            )

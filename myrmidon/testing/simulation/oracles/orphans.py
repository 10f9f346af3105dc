"""O5: what belongs to an object that is gone is gone as well.

An object belongs to another by its ownerReferences, or by a label or annotation with its uid.  The
garbage collector has run; a finalizer of a controller that is not removed keeps an object for ever.
"""

from collections.abc import Sequence

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting, owners_of, uid_of
from myrmidon.testing.simulation.oracles.commits import NOT_JUDGED, JudgedChange
from myrmidon.testing.simulation.run import Run


def check_orphans(run: Run, changes: Sequence[JudgedChange], objects: Sequence[Json]) -> None:
    """Fail for each object whose reconciled owner is gone, or that is deleted but never goes."""
    kinds = {kind for recipe, _ in run.recipes for kind in recipe.kinds}
    gone = {
        uid_of(one.after): one.name for one in changes
        if one.deleted and one.after["kind"] in kinds
    }  # fmt: skip
    ours = {
        finalizer
        for one in changes
        if one.by_controller and not one.deleted
        for finalizer in {*finalizers_of(one.after)} - {*finalizers_of(one.before or {})}
    }
    for obj in objects:
        if obj["kind"] in NOT_JUDGED:
            continue
        name = f"{obj['kind']} {obj['metadata']['name']}"
        owner = _gone_owner(obj, gone)
        if owner is not None and obj["kind"] not in run.retained:
            run.fail("O5", name, f"{name} is left over: its owner {owner} is gone")
        left = [one for one in finalizers_of(obj) if one in ours]
        if is_deleting(obj) and obj["kind"] in kinds and left:
            held = ", ".join(left)
            run.fail("O5", name, f"{name} is deleted and stays for ever: finalizers {held}")


def _gone_owner(obj: Json, gone: dict[str, str]) -> str | None:
    meta = obj["metadata"]
    for owner in owners_of(obj):
        if str(owner.get("uid")) in gone:
            return gone[str(owner["uid"])]
    for text in ((meta.get("labels") or {}) | (meta.get("annotations") or {})).values():
        if text in gone:
            return gone[text]
    return None

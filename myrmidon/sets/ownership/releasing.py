"""Release a child: it stays, and no longer names the parent.

The garbage collector deletes the objects whose owners are gone, and the controller deletes the
children that carry its tracking label.  A child that should outlive its parent, or that should not
belong to it any more, loses both.
"""

from myrmidon.api.objects.accessors import Json, annotations_of, labels_of, owners_of, version_of
from myrmidon.api.requests.request import Request, Verb
from myrmidon.sets.outputs.outputs import Release, manager_of
from myrmidon.sets.outputs.requests import write_query
from myrmidon.sets.ownership.adoption import is_child_of
from myrmidon.sets.ownership.owner_references import PARENT, PARENT_UID, Parent


def plan_release(output: Release, current: Json | None, parent: Parent) -> Request | None:
    """Return the request that removes the parent from a child; None if it is not a child."""
    if current is None or not is_child_of(current, parent):
        return None
    # The list is replaced as a whole, so it must not have changed since it was read.
    meta: Json = {"resourceVersion": version_of(current)}
    owners = owners_of(current)
    others = [owner for owner in owners if owner.get("uid") != parent.uid]
    if len(others) < len(owners):
        meta["ownerReferences"] = others or None
    if PARENT_UID in labels_of(current):
        meta["labels"] = {PARENT_UID: None}
    if PARENT in annotations_of(current):
        meta["annotations"] = {PARENT: None}
    query = write_query(manager_of(output))
    return Request(Verb.PATCH, output.ref, {"metadata": meta}, query=query)

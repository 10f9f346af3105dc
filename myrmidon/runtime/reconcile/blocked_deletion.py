"""What an object says when its deletion cannot go on, and the command that frees it.

A finalizer holds its object until the controller removes it.  Whatever keeps the controller from
that (a model that became stricter, a right that was taken away, a state that fails), a person must
be able to see what it is, and to let the object go all the same.
"""

from myrmidon.api.refs import ObjectRef
from myrmidon.errors import ForbiddenError, MyrmidonError
from myrmidon.fsm.results import Failed, Wait
from myrmidon.runtime.reconcile.write_errors import refusal

BLOCKED = "DeletionBlocked"  # the reason of the Event


def remedy(ref: ObjectRef) -> str:
    """How to let an object go without its controller."""
    kind = f"{ref.kind.plural}.{ref.kind.group}".rstrip(".")
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"to give up its finalizer: `myrmidon release {kind} {ref.name}{where}`"


def child_refused(ref: ObjectRef, error: MyrmidonError) -> Wait | Failed:
    """The result for a child that no cache of the controller shows and that it cannot delete."""
    if not isinstance(error, ForbiddenError):
        return refusal(ref, error)
    return Failed(
        "Forbidden",
        f"{ref} is a child of this object, outside the kinds and namespaces that the controller "
        f"declares, and must be deleted first: {error.message}.\n"
        "  fix: delete it yourself, or declare its kind and namespace again and apply the role of "
        "`myrmidon generate rbac`",
    )

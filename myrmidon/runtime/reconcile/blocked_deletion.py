"""Messages for an object whose deletion is blocked, and the command that removes the finalizer.

An object with our finalizer stays until the controller removes it.  If the controller cannot do
that (the model became stricter, a permission was revoked, a state fails), the object must show the
cause, and the command with which a person can remove the finalizer by hand.
"""

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import ForbiddenError, MyrmidonError
from myrmidon.fsm.machine.results import Failed, Wait
from myrmidon.runtime.reconcile.write_errors import refusal

BLOCKED = "DeletionBlocked"  # the reason of the Event


def remedy(ref: ObjectRef) -> str:
    """Return the hint that names the command to remove the finalizer by hand."""
    kind = f"{ref.kind.plural}.{ref.kind.group}".rstrip(".")
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"to remove its finalizer by hand: `myrmidon release {kind} {ref.name}{where}`"


def child_refused(ref: ObjectRef, error: MyrmidonError) -> Wait | Failed:
    """Return the result for a child outside the caches that the server did not let us delete."""
    if not isinstance(error, ForbiddenError):
        return refusal(ref, error)
    return Failed(
        "Forbidden",
        f"{ref} is a child of this object, outside the kinds and namespaces that the controller "
        f"declares, and must be deleted first: {error.message}.\n"
        "  fix: delete it yourself, or declare its kind and namespace again and apply the role of "
        "`myrmidon generate rbac`",
    )

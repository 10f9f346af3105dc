"""Errors about one object on the server: its ownership, and whether it can be read or written."""

from collections.abc import Sequence

from myrmidon.errors.root import MyrmidonError
from myrmidon.errors.transport import TransportError


class AlreadyOwnedError(MyrmidonError):
    """The object belongs to another parent, by controller owner reference or by tracking label."""

    def __init__(self, ref: str, owner: str, *, label: str = "") -> None:
        self.ref, self.owner = ref, owner
        mark = f"the label {label}" if label else "the other controller's owner reference"
        when = " if that parent is gone" if label else ""
        super().__init__(
            f"{ref} is controlled by {owner} and was left alone.\n"
            f"  fix: choose another name for the output, or remove {mark}{when}"
        )


class NotAdoptedError(MyrmidonError):
    """The object exists, names no parent, and was not written by this controller."""

    def __init__(self, ref: str, parent: str, *, verb: str, command: str) -> None:
        self.ref, self.parent = ref, parent
        super().__init__(
            f"{ref} exists, but this controller did not create it, and it does not name {parent} "
            "as its owner; it was left alone.\n"
            f"  fix: choose another name for the output, or allow its adoption: "
            f"out.{verb}(..., adopt=True) in the state, or `{command}`"
        )


class StalledError(MyrmidonError):
    """Another writer changes the object back after each of our writes; we write it less often."""

    def __init__(
        self, ref: str, fields: str, manager: str, others: str | None, seconds: float
    ) -> None:
        self.ref, self.fields, self.others, self.seconds = ref, fields, others, seconds
        by = f", by {others}" if others else ""
        super().__init__(
            f'{ref}: {fields} is written by "{manager}" and changed back each time{by}.\n'
            "  fix: declare the field in one place only: leave it out of this output, or stop the "
            "other writer; until then it is written at most once in 1 to 10 minutes"
        )


class DeletedAgainError(StalledError):
    """Another client deletes the object after each creation; we create it less often."""

    def __init__(self, ref: str, seconds: float) -> None:
        self.ref, self.fields, self.others, self.seconds = ref, "", None, seconds
        MyrmidonError.__init__(
            self,
            f"{ref} was deleted by another client each time it was created.\n"
            "  fix: find what deletes it (the audit log has its name): a time to live, another "
            "controller, a script, or the garbage collector because an owner that the output names "
            "does not exist; until then it is created at most once in 1 to 10 minutes",
        )


class PruneRefusedError(MyrmidonError):
    """More objects would be pruned at once than ``prune_max`` allows; a mistake is likely."""

    def __init__(self, refs: Sequence[str], limit: int) -> None:
        self.refs, self.limit = tuple(refs), limit
        super().__init__(
            f"{len(refs)} objects are no longer emitted ({', '.join(refs[:3])}, ...), "
            f"but at most {limit} are pruned at once.\n"
            "  fix: delete them by hand, or raise ControllerOptions.prune_max"
        )


class TerminatingError(MyrmidonError):
    """The object is being deleted; it can be created again when it is gone."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        super().__init__(f"{ref} is being deleted; it is created again when it is gone")


class MissingObjectError(MyrmidonError):
    """An object that should be patched does not exist."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        super().__init__(f"{ref} does not exist")


class ManagersUnknownError(MyrmidonError):
    """A decision needs ``metadata.managedFields``, which only a live read of the object has."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        super().__init__(f"the field managers of {ref} are not known")


class UnfitObjectError(MyrmidonError):
    """An object on the server does not fit its model."""

    def __init__(self, ref: str, problems: Sequence[str]) -> None:
        self.ref, self.problems = ref, tuple(problems)
        super().__init__(f"{ref} does not fit its model: {'; '.join(problems)}")


class ConversionError(MyrmidonError):
    """An object cannot be converted to another version of its kind."""

    def __init__(self, ref: str, version: str, problem: str) -> None:
        self.ref, self.version, self.problem = ref, version, problem
        super().__init__(f"{ref} cannot be converted to {version}: {problem}")


class UnreadableObjectError(MyrmidonError):
    """An object on the server cannot be read: it is not JSON, or does not have an object's fields.

    It exists, so it must not be treated as absent.  It is read again when a watch event reports a
    change.
    """

    reason = "UnreadableObject"

    def __init__(self, ref: str, problem: str, *, uid: str = "") -> None:
        self.ref, self.problem, self.uid = ref, problem, uid
        super().__init__(
            f"{ref} cannot be read: {problem}.\n"
            "  fix: look at it with `kubectl get -o json`, and correct or delete it; "
            "it is read again as soon as it changes"
        )


class RemoteUnavailableError(TransportError):
    """A remote cluster was not listed yet: whether an object exists there is unknown."""

    def __init__(self, cluster: str, kind: str, fault: object = None) -> None:
        self.cluster = cluster
        why = f": {fault}" if fault is not None else ""
        super().__init__(
            f"{kind} on the cluster {cluster} could not be listed yet{why}; it is tried again"
        )


class UnknownClusterError(MyrmidonError):
    """A child is recorded on a remote cluster, in a kind that the controller declares no more."""

    def __init__(self, ref: str, cluster: str) -> None:
        self.ref, self.cluster = ref, cluster
        super().__init__(
            f"{ref} is a child of this object, but the controller no longer manages that kind on the "
            f"cluster {cluster!r}, so it cannot be deleted.\n"
            "  fix: declare the kind and the cluster again until it is gone, or delete it yourself and "
            "release the object with `myrmidon release`"
        )

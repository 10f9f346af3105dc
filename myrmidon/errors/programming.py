"""Mistakes in a controller's code that show up in a pass: undeclared or invalid outputs and reads.

They are not retried, because the next attempt would do the same.  ``reason`` is the reason of the
state's condition.
"""

from collections.abc import Sequence
from inspect import iscoroutine
from typing import ClassVar

from myrmidon.errors.root import MyrmidonError, brief, names_of


class ProgrammingError(MyrmidonError):
    """The controller did what it does not declare, or returned an invalid value."""

    reason = "ProgrammingError"


class UndeclaredEdgeError(ProgrammingError):
    """A result goes to a state that is not in the state's ``then``."""

    reason = "UndeclaredEdge"

    def __init__(
        self,
        controller: str,
        state: str,
        target: str | None,
        declared: Sequence[str],
        *,
        fork: bool = False,
    ) -> None:
        self.controller, self.state, self.target = controller, state, target
        if target is None:
            problem = (
                f"{controller}.{state} returned Done() without goto, "
                f"but declares {len(declared)} next states."
            )
            fix = f"return Done(goto=...) with one of {names_of(declared)}"
        elif fork:
            problem = (
                f"{controller}.{state} went to {target!r}, but it forks to {names_of(declared)}."
            )
            fix = "return Done() without goto, or choose one of them: declare them without Fork"
        else:
            listed = names_of(declared) if declared else "none"
            problem = f"{controller}.{state} went to {target!r}, which is not declared (declared: {listed})."
            fix = f"add {target!r} to the `then` of {controller}.{state}"
        super().__init__(f"{problem}\n  fix: {fix}")


class UndeclaredKindError(ProgrammingError):
    """A state used a kind that its controller does not declare; subclasses say how."""

    _problem: ClassVar[str]
    _consequence: ClassVar[str]
    _declaration: ClassVar[str]

    def __init__(self, controller: str, state: str, kind: str) -> None:
        self.controller, self.state, self.kind = controller, state, kind
        super().__init__(
            f"{controller}.{state} {self._problem.format(controller=controller, kind=kind)}.\n"
            f"  Without it {self._consequence}.\n"
            f"  fix: add it to {controller}.{self._declaration}, then run `myrmidon generate rbac`"
        )


class UndeclaredOutputError(UndeclaredKindError):
    """A state applied or deleted an object of a kind the controller does not manage."""

    reason = "UndeclaredOutput"
    _problem = "put a {kind} into its outputs, which {controller}.manages does not list"
    _consequence = "the object is not watched and the generated role cannot write it"
    _declaration = "manages"


class UndeclaredReadError(UndeclaredKindError):
    """A state read a kind that the controller neither manages nor reads."""

    reason = "UndeclaredRead"
    _problem = "read a {kind}, which {controller} lists neither in manages nor in reads"
    _consequence = "there is no cache to read from and the generated role cannot read it"
    _declaration = "reads"


class NotAKindError(ProgrammingError):
    """A state read a value that does not stand for a kind, such as the name of one."""

    reason = "UndeclaredRead"

    def __init__(self, controller: str, state: str, wanted: object) -> None:
        super().__init__(
            f"{controller}.{state} read {wanted!r}, which is not a kind.\n"
            "  fix: use a constant of myrmidon.kinds, such as kinds.CONFIG_MAP, or a Resource class"
        )


class UndeclaredExternalError(ProgrammingError):
    """A state used an ``External`` that the controller does not list in ``externals``."""

    reason = "UndeclaredExternal"

    def __init__(self, controller: str, state: str, external: str) -> None:
        self.controller, self.state, self.external = controller, state, external
        super().__init__(
            f"{controller}.{state} used {external}, which {controller}.externals does not list.\n"
            "  fix: add the class to externals"
        )


class StateResultError(ProgrammingError):
    """A state returned a value that is not a result."""

    reason = "NoResult"

    def __init__(self, controller: str, state: str, returned: object) -> None:
        self.controller, self.state, self.returned = controller, state, returned
        fix = "return Done(), Wait(reason, message) or Failed(reason, error)"
        if iscoroutine(returned):
            fix = f"write `async def {state}` and `return await {returned.__name__}(...)`"
        elif isinstance(returned, type):
            fix = f"return an object: {returned.__name__}(...), with parentheses"
        super().__init__(
            f"{controller}.{state} returned {_called(returned)}, which is not a result.\n  fix: {fix}"
        )


def _called(returned: object) -> str:
    """Return the value in words; a coroutine without its address, which differs in each pass."""
    if iscoroutine(returned):
        return f"a coroutine of {returned.__name__}"
    return f"the class {returned.__name__}" if isinstance(returned, type) else brief(returned)


class FinalizerScheduleError(ProgrammingError):
    """A state of a finalizer graph returned ``Done(again=...)``."""

    reason = "ScheduleWhileDeleting"

    def __init__(self, controller: str, state: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(
            f"{controller}.{state} returned Done(again=...) while the object is being deleted: after "
            "the last state the object is gone, and there is nothing to look at again.\n"
            "  fix: return Done(), or Wait(reason, after=...) if the deletion has to wait"
        )


class MalformedNameError(ProgrammingError):
    """A name that is not valid in a path, or would make the path of another object or of a list."""

    reason = "MalformedName"

    def __init__(self, described: str, why: str) -> None:
        self.described = described
        super().__init__(
            f"nothing was sent for {described}: {why}.\n"
            "  fix: check where the name comes from; to read many objects use list"
        )


class OutputError(ProgrammingError):
    """An output is invalid and cannot be written."""

    reason = "InvalidOutput"


class StatusError(ProgrammingError):
    """A status field that a state has set cannot be written as JSON."""

    reason = "InvalidStatus"


class ForeignStatusError(StatusError):
    """A state set a status field of an object whose status belongs to another controller."""

    def __init__(self, controller: str, kind: str) -> None:
        super().__init__(
            f"a state of {controller} set a field of the status of {kind}, but {controller} does not "
            "keep its conditions there.\n"
            '  fix: write options = ControllerOptions(conditions="status"), or apply another object '
            "that holds the value"
        )


class UnidentifiedObjectError(OutputError):
    """An object lacks apiVersion, kind or name."""

    def __init__(self, missing: str, described: str, fix: str = "") -> None:
        self.missing = missing
        super().__init__(
            f"an object without {missing} cannot be applied or deleted: {described}.\n"
            f"  fix: {fix or f'set {missing} on the object'}"
        )


class GeneratedNameError(OutputError):
    """An output has a ``generateName``: every pass would create another object."""

    def __init__(self, described: str) -> None:
        super().__init__(
            f"{described} uses metadata.generateName; every pass would create another one.\n"
            "  fix: give it a name that follows from its parent, such as "
            "hashed_name(parent, data) for an immutable child"
        )


class MissingLockError(OutputError):
    """An output with ``optimistic_lock=True`` has no resourceVersion."""

    def __init__(self, described: str) -> None:
        super().__init__(
            f"{described} is applied with optimistic_lock=True, but has no metadata.resourceVersion.\n"
            "  fix: read the object with ctx.get, change the copy and apply that, "
            "or drop optimistic_lock"
        )


class OwnerReferenceError(OutputError):
    """An output would get an owner reference that Kubernetes does not allow."""

    reason = "InvalidOwnerReference"

    def __init__(self, child: str, parent: str, why: str) -> None:
        self.child, self.parent = child, parent
        super().__init__(
            f"{child} cannot be owned by {parent}: {why}, and the garbage collector would delete the child.\n"
            "  fix: apply it with owner_refs=False; it is then tracked by label "
            "and deleted with its parent all the same"
        )


class SelfOutputError(OutputError):
    """A state applies the object of its own pass, which cannot be its own child."""

    def __init__(self, controller: str, state: str, ref: str) -> None:
        super().__init__(
            f"{controller}.{state} applies {ref}, the object of the pass itself, which cannot be its own child.\n"
            "  fix: set its status through obj.status, its labels and annotations through "
            "out.label_self and out.annotate_self; leave its spec to its author"
        )


class SelfDeletionError(OutputError):
    """A state deletes by name an object of the kind that its controller reconciles."""

    reason = "UndeclaredOutput"

    def __init__(self, controller: str, state: str) -> None:
        super().__init__(
            f"{controller}.{state} deletes an object of the kind that {controller} reconciles.\n"
            "  fix: delete the object of the pass with out.delete_self(); to delete others of its kind, "
            f"add the kind to {controller}.manages"
        )


class UnselectedOutputError(OutputError):
    """An output lacks the labels by which the controller caches its kind."""

    reason = "NotSelected"

    def __init__(self, controller: str, state: str, ref: str, selector: str) -> None:
        super().__init__(
            f"{controller}.{state} writes {ref} without the labels {selector!r}, by which "
            f"{controller}.manages selects this kind; it would never see the object.\n"
            "  fix: add the labels to the output, or change selector in Manages(...)"
        )


class UnwatchedNamespaceError(OutputError):
    """An output is in a namespace that the controller does not watch."""

    reason = "NamespaceNotWatched"

    def __init__(
        self, controller: str, state: str, ref: str, namespace: str, watched: Sequence[str]
    ) -> None:
        super().__init__(
            f"{controller}.{state} writes {ref}, but watches only the namespaces {', '.join(watched)}.\n"
            f"  fix: add {namespace!r} to ControllerOptions.namespaces or to --namespace"
        )

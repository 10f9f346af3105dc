"""Every error myrmidon raises.

MyrmidonError
  DefinitionError          the controller or resource is written wrong; raised at import
    InitialStateError        none or two initial states
    FinalizerStateError      two finalizer starts
    UnknownStateError        an edge to a state that does not exist
    StateCycleError          a state that can reach itself
    UnreachableStateError    a state that no path leads to
    ConditionError           a condition type used twice, missing, or reserved
    StateSignatureError      a state method that cannot be called as one
    ManagedKindError         an entry of manages or reads that is not a kind
  ProgrammingError         the controller did something it never declared; not retried
    UndeclaredEdgeError      a result goes to a state that the edge list lacks
    UndeclaredOutputError    an output of a kind that is not managed
    UndeclaredReadError      a read of a kind that is neither managed nor read
    OutputError              an output that cannot be written as it is
      UnidentifiedObjectError  without apiVersion, kind or name
      GeneratedNameError       with generateName
      MissingLockError         optimistic_lock without a resourceVersion
      OwnerReferenceError      an owner reference that Kubernetes does not allow
      SelfOutputError          of an object that is the parent itself
      UnwatchedNamespaceError  in a namespace that the controller does not watch
    StatusError              a status field that a state has set cannot be written as JSON
    StateResultError         a state returned a value that is not a result
    MalformedNameError       a name, namespace or kind that cannot be part of a path
  AlreadyOwnedError        the object belongs to another parent
  NotAdoptedError          the object exists, names no parent, and its adoption was not asked for
  StalledError             the object is changed back after each of our writes
  PruneRefusedError        more would be deleted at once than the guard allows
  TerminatingError         the object is on its way out and cannot be made to exist
  UnfitObjectError         an object of the server does not fit its model
  UnreadableObjectError    an object of the server cannot be read at all
  ApiError                 the server said no
    BadRequestError          400
    UnknownFieldError        400, 422 or 500, a field that the schema does not have
    UnauthorizedError        401
    ForbiddenError           403
      NamespaceTerminatingError  403, the namespace is on its way out
      QuotaExceededError         403, a ResourceQuota is used up
    NotFoundError            404
    ConflictError            409, somebody else wrote first
      AlreadyExistsError       409, a create of something that is there
      FieldConflictError       409, a server-side apply of a field that another manager owns
    ExpiredError             410, the version asked for is compacted away
    TooLargeError            413
    InvalidError             422
    TooManyRequestsError     429
    ServerError              5xx
  TransportError           no answer came
    UnreachableError         the request was not sent
    AmbiguousError           the request was sent; whether it took effect is unknown
  LeadershipLostError      another replica may lead; this process must stop writing
  TaskEndedError           a task that runs as long as the process has ended
  UsageError               a wrong argument, file or setting; shown without a traceback
"""

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

RETRY_AFTER_SECONDS_MAX = 60.0


class MyrmidonError(Exception):
    """The root of every error that myrmidon raises."""


# ------------------------------------------------------------------------- definition


class DefinitionError(MyrmidonError):
    """The controller or resource is written wrong."""


class InitialStateError(DefinitionError):
    """The walk needs exactly one place to start."""

    def __init__(self, controller: str, initial: Sequence[str]) -> None:
        self.controller, self.initial = controller, tuple(initial)
        if initial:
            problem = f"{controller} has {len(initial)} initial states: {_names(initial)}."
            fix = f"keep initial=True on one of them and reach {_names(initial[1:])} by `then`"
        else:
            problem = f"{controller} has no initial state."
            fix = "mark the state every pass starts at with @state(initial=True, ...)"
        super().__init__(f"{problem}\n  fix: {fix}")


class FinalizerStateError(DefinitionError):
    """The finalizer graph needs at most one place to start."""

    def __init__(self, controller: str, starts: Sequence[str]) -> None:
        self.controller, self.starts = controller, tuple(starts)
        super().__init__(
            f"{controller} has {len(starts)} finalizer starts: {_names(starts)}.\n"
            f"  fix: keep finalizer=True on one of them and reach {_names(starts[1:])} by `then`"
        )


class UnknownStateError(DefinitionError):
    """An edge leads to a state that does not exist."""

    def __init__(self, controller: str, state: str, target: str, known: Sequence[str]) -> None:
        self.controller, self.state, self.target, self.known = (
            controller,
            state,
            target,
            tuple(known),
        )
        super().__init__(
            f"{controller}.{state} may go to {target!r}, but {controller} has no state of that name.\n"
            f"  fix: use one of {_names(known)} in `then`, or add the state {target!r}"
        )


class StateCycleError(DefinitionError):
    """A state can reach itself within one pass."""

    def __init__(self, controller: str, cycle: Sequence[str]) -> None:
        self.controller, self.cycle = controller, tuple(cycle)
        super().__init__(
            f"{controller} has a cycle: {' -> '.join(cycle)}.\n"
            "  A pass walks from the initial state to an end; it would never arrive.\n"
            f"  fix: remove the edge {cycle[-2]} -> {cycle[-1]}; to look again later, return Wait(...)"
        )


class UnreachableStateError(DefinitionError):
    """No path leads to a state."""

    def __init__(self, controller: str, states: Sequence[str]) -> None:
        self.controller, self.states = controller, tuple(states)
        noun = "a state" if len(states) == 1 else "states"
        super().__init__(
            f"{controller} has {noun} that nothing reaches: {_names(states)}.\n"
            f"  fix: name {states[0]!r} in the `then` of the state before it, or delete it"
        )


class ConditionError(DefinitionError):
    """A condition type is used twice, missing, malformed or reserved."""

    def __init__(self, controller: str, state: str, problem: str, fix: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(f"{controller}.{state} {problem}.\n  fix: {fix}")


class StateSignatureError(DefinitionError):
    """A state method cannot be called as (obj, out) or (obj, out, ctx)."""

    def __init__(self, controller: str, state: str, problem: str) -> None:
        self.controller, self.state = controller, state
        super().__init__(
            f"{controller}.{state} {problem}.\n"
            f"  fix: write `def {state}(self, obj, out) -> Result` "
            f"or `def {state}(self, obj, out, ctx) -> Result`, with `async` if it awaits"
        )


class ManagedKindError(DefinitionError):
    """An entry of ``manages`` or ``reads`` is no kind."""

    def __init__(self, controller: str, attribute: str, entry: object) -> None:
        self.controller, self.attribute, self.entry = controller, attribute, entry
        super().__init__(
            f"{controller}.{attribute} lists {entry!r}, which is not a kind.\n"
            "  fix: use a constant of myrmidon.kinds, a Resource class, or "
            "Kind(group, version, kind, plural, namespaced)"
        )


# ------------------------------------------------------------------------ programming


class ProgrammingError(MyrmidonError):
    """The controller did something it never declared.  Retrying cannot help."""

    reason = "ProgrammingError"


class UndeclaredEdgeError(ProgrammingError):
    """A result goes to a state that the edge list lacks."""

    reason = "UndeclaredEdge"

    def __init__(
        self, controller: str, state: str, target: str | None, declared: Sequence[str]
    ) -> None:
        self.controller, self.state, self.target = controller, state, target
        if target is None:
            problem = (
                f"{controller}.{state} returned Done() without goto, "
                f"but declares {len(declared)} next states."
            )
            fix = f"return Done(goto=...) with one of {_names(declared)}"
        else:
            listed = _names(declared) if declared else "none"
            problem = f"{controller}.{state} went to {target!r}, which is not declared (declared: {listed})."
            fix = f"add {target!r} to the `then` of {controller}.{state}"
        super().__init__(f"{problem}\n  fix: {fix}")


class UndeclaredOutputError(ProgrammingError):
    """A state applied or deleted an object of a kind the controller does not manage."""

    reason = "UndeclaredOutput"

    def __init__(self, controller: str, state: str, kind: str) -> None:
        self.controller, self.state, self.kind = controller, state, kind
        super().__init__(
            f"{controller}.{state} put a {kind} into its outputs, which {controller}.manages does not list.\n"
            "  Without it nobody watches the object and the generated role cannot write it.\n"
            f"  fix: add it to {controller}.manages, then run `myrmidon generate rbac`"
        )


class UndeclaredReadError(ProgrammingError):
    """A state read a kind that the controller neither manages nor reads."""

    reason = "UndeclaredRead"

    def __init__(self, controller: str, state: str, kind: str) -> None:
        self.controller, self.state, self.kind = controller, state, kind
        super().__init__(
            f"{controller}.{state} read a {kind}, which {controller} lists neither in manages nor in reads.\n"
            "  Without it there is no cache to read from and the generated role cannot read it.\n"
            f"  fix: add it to {controller}.reads, then run `myrmidon generate rbac`"
        )


class StateResultError(ProgrammingError):
    """A state returned a value that is not a result."""

    reason = "NoResult"

    def __init__(self, controller: str, state: str, returned: object) -> None:
        self.controller, self.state, self.returned = controller, state, returned
        super().__init__(
            f"{controller}.{state} returned {_brief(returned)}, which is not a result.\n"
            "  fix: return Done(), Wait(reason, message) or Failed(reason, error)"
        )


class MalformedNameError(ProgrammingError):
    """A name that would make the path of another object, of a list, or of none."""

    reason = "MalformedName"

    def __init__(self, described: str, why: str) -> None:
        self.described = described
        super().__init__(
            f"nothing was sent for {described}: {why}.\n"
            "  fix: check where the name comes from; to read many objects use list"
        )


class OutputError(ProgrammingError):
    """An output cannot be written as it is."""

    reason = "InvalidOutput"


class StatusError(ProgrammingError):
    """A status field that a state has set cannot be written as JSON."""

    reason = "InvalidStatus"


class UnidentifiedObjectError(OutputError):
    """An object lacks apiVersion, kind or name."""

    def __init__(self, missing: str, described: str) -> None:
        self.missing = missing
        super().__init__(
            f"an object without {missing} cannot be applied or deleted: {described}.\n"
            f"  fix: set {missing} on the object"
        )


class GeneratedNameError(OutputError):
    """An output with ``generateName`` would be created anew by every pass."""

    def __init__(self, described: str) -> None:
        super().__init__(
            f"{described} uses metadata.generateName; every pass would create another one.\n"
            "  fix: give it a name that follows from its parent, such as "
            "hashed_name(parent, data) for an immutable child"
        )


class MissingLockError(OutputError):
    """``optimistic_lock=True`` on an object without a resourceVersion."""

    def __init__(self, described: str) -> None:
        super().__init__(
            f"{described} is applied with optimistic_lock=True, but has no metadata.resourceVersion.\n"
            "  fix: read the object with ctx.get, change the copy and apply that, "
            "or drop optimistic_lock"
        )


class OwnerReferenceError(OutputError):
    """An owner reference that Kubernetes does not allow."""

    reason = "InvalidOwnerReference"

    def __init__(self, child: str, parent: str, why: str) -> None:
        self.child, self.parent = child, parent
        super().__init__(
            f"{child} cannot be owned by {parent}: {why}, and the garbage collector would delete the child.\n"
            "  fix: apply it with owner_refs=False; it is then tracked by label "
            "and deleted with its parent all the same"
        )


class SelfOutputError(OutputError):
    """A state applies the object of its own pass, which would make it its own child."""

    def __init__(self, controller: str, state: str, ref: str) -> None:
        super().__init__(
            f"{controller}.{state} applies {ref}, the object of the pass itself, which cannot be its own child.\n"
            "  fix: set its status through obj.status; leave its spec and metadata to its author"
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
    """The object is changed back after each of our writes; it is written less often for a while."""

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


class PruneRefusedError(MyrmidonError):
    """More objects would go at once than the guard allows; a bug is likelier than an intention."""

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


class UnfitObjectError(MyrmidonError):
    """An object of the server does not fit its model."""

    def __init__(self, ref: str, problems: Sequence[str]) -> None:
        self.ref, self.problems = ref, tuple(problems)
        super().__init__(f"{ref} does not fit its model: {'; '.join(problems)}")


class UnreadableObjectError(MyrmidonError):
    """An object of the server cannot be read at all: it is not valid JSON, or not an object's shape.

    It exists, so it must not be taken for absent.  It is read again when the server tells of a change.
    """

    reason = "UnreadableObject"

    def __init__(self, ref: str, problem: str, *, uid: str = "") -> None:
        self.ref, self.problem, self.uid = ref, problem, uid
        super().__init__(
            f"{ref} cannot be read: {problem}.\n"
            "  fix: look at it with `kubectl get -o json`, and correct or delete it; "
            "it is read again as soon as it changes"
        )


# ------------------------------------------------------------------------------- api


class ApiError(MyrmidonError):
    """The server said no: the Status object that it sent, as attributes."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status, self.reason, self.message = status, reason, message
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_seconds(retry_after)
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")

    @property
    def causes(self) -> list[Mapping[str, Any]]:
        """The causes that the server listed, each with reason, message and field."""
        return _causes(self.details)


class BadRequestError(ApiError):
    """400: the request does not decode."""


class UnknownFieldError(ApiError):
    """The object has a field that its schema does not have, and the server refused to drop it.

    400 for a create or update, 422 for a patch, 500 for a server-side apply.
    """

    @property
    def fields(self) -> str:
        """What the server says about the fields, without the object that it prints before it."""
        return self.message.rpartition(_STRICT)[2].rpartition(_TYPED)[2].strip()


class UnauthorizedError(ApiError):
    """401: the token is wrong or has expired."""


class ForbiddenError(ApiError):
    """403: RBAC or admission refused."""


class NamespaceTerminatingError(ForbiddenError):
    """403: nothing can be created in a namespace that is being deleted."""


class QuotaExceededError(ForbiddenError):
    """403: a ResourceQuota is used up."""


class NotFoundError(ApiError):
    """404: no such object, or no such kind."""


class ConflictError(ApiError):
    """409: somebody else wrote first, or owns the field."""


class AlreadyExistsError(ConflictError):
    """409: a create of something that is there."""


class FieldConflictError(ConflictError):
    """409: a server-side apply sets fields that another field manager owns."""


class ExpiredError(ApiError):
    """410: the version or page asked for is compacted away."""


class TooLargeError(ApiError):
    """413: the request is too large."""


class InvalidError(ApiError):
    """422: the object does not validate."""


class TooManyRequestsError(ApiError):
    """429: slow down."""


class ServerError(ApiError):
    """5xx: the server failed; a write may or may not have happened."""


# The only marks that the server gives: how it begins the texts of these two refusals.
_STRICT = "strict decoding error:"  # of fieldValidation=Strict
_TYPED = (
    "failed to create typed patch object"  # of a server-side apply that does not fit the schema
)
_UNDECLARED = "field not declared in schema"

_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    413: TooLargeError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def retry_seconds(asked: Any) -> float | None:
    """Return the seconds that a server asks us to wait, from a Retry-After header or a Status.

    At most a minute: a server or proxy that is wrong must not keep an object or a watch
    away for a day.  None for anything but a number.
    """
    try:
        seconds = float(asked)
    except (TypeError, ValueError, OverflowError):
        return None
    if isnan(seconds):
        return None
    return min(max(0.0, seconds), RETRY_AFTER_SECONDS_MAX)


def api_error(
    status: int, body: Mapping[str, Any] | None, *, text: str = "", retry_after: float | None = None
) -> ApiError:
    """Build the error for a response: from the Status object if there is one, else from the text."""
    body = body or {}
    details = body.get("details")
    details = details if isinstance(details, Mapping) else {}
    reason, message = str(body.get("reason") or ""), str(body.get("message") or text.strip())
    if retry_after is None:
        retry_after = retry_seconds(details.get("retryAfterSeconds"))
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    causes = [cause.get("reason") for cause in _causes(details)]
    if status == 409 and reason == "AlreadyExists":
        kind = AlreadyExistsError
    elif status == 409 and "FieldManagerConflict" in causes:
        kind = FieldConflictError
    elif status == 403 and "NamespaceTerminating" in causes:
        kind = NamespaceTerminatingError
    elif status == 403 and "exceeded quota" in message:
        kind = QuotaExceededError
    elif status in (400, 422) and _STRICT in message:
        kind = UnknownFieldError
    elif status == 500 and _TYPED in message:
        kind = UnknownFieldError if _UNDECLARED in message else InvalidError
    return kind(status, reason, message, details=details, retry_after=retry_after)


def _causes(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    causes = details.get("causes")
    if not isinstance(causes, list | tuple):
        return []
    return [cause for cause in causes if isinstance(cause, Mapping)]


# ------------------------------------------------------------------------- transport


class TransportError(MyrmidonError):
    """No answer came."""


class UnreachableError(TransportError):
    """The request was not sent."""


class AmbiguousError(TransportError):
    """The request was sent and no answer came; whether it took effect is unknown."""


# ---------------------------------------------------------------------------- the rest


class LeadershipLostError(MyrmidonError):
    """Another replica may lead; this process must stop writing."""


class TaskEndedError(MyrmidonError):
    """A task that has to run as long as the process has ended: a worker, a feed, a watch."""

    def __init__(self, task: str, why: str) -> None:
        self.task = task
        super().__init__(
            f"the task {task!r} has ended: {why}.\n"
            "  fix: restart the process; the log has the traceback, please report it"
        )


class UsageError(MyrmidonError):
    """A wrong argument, file or setting: what is wrong and how to fix it, in one or two lines."""


def _brief(value: object) -> str:
    """Return the repr of a value, shortened; its type where the repr itself raises."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a class of a user may do anything here
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= _BRIEF_MAX else f"{shown[:_BRIEF_MAX]}…"


_BRIEF_MAX = 200


def _names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)

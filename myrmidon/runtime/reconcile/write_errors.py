"""Turn the error of a write into the result of the state that wanted it.

Each kind of error has its own condition reason, and a message that names the object and the field,
so that the condition alone explains the problem, without the log.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from myrmidon.api.objects.conditions import STALLED
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import (
    AdmissionDeniedError,
    AlreadyOwnedError,
    ApiError,
    ConflictError,
    FieldConflictError,
    ForbiddenError,
    InvalidError,
    LeadershipLostError,
    MissingObjectError,
    NamespaceTerminatingError,
    NotAdoptedError,
    NotFoundError,
    ProgrammingError,
    QuotaExceededError,
    RemoteUnavailableError,
    ServerError,
    StalledError,
    TerminatingError,
    TooLargeError,
    TooManyRequestsError,
    TransportError,
    UnknownClusterError,
    UnknownFieldError,
    UnreadableObjectError,
    is_denial,
)
from myrmidon.fsm.machine.results import Failed, Wait

CONFLICT = "ApplyOutputsConflict"
_NAMED_MAX = 10  # refused outputs that a message names; the rest is counted


def refusal(ref: ObjectRef, error: Exception) -> Wait | Failed:
    """Return the state result for a write that failed: ``Wait`` or ``Failed``.

    A lost Lease is not a result of the state: it ends the process, so it is raised.
    """
    if isinstance(error, LeadershipLostError):
        raise error
    if isinstance(error, ProgrammingError | UnreadableObjectError):
        return Failed(error.reason, error, retry=False)
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            return meaning(ref, error)
    return Failed("InternalError", error)


def refusals(refused: Sequence[Wait | Failed]) -> Wait | Failed:
    """Return one result for several refused outputs of a state, whose message names each of them.

    A failure has precedence over a Wait; the first of them gives the reason.  It is retried if
    retrying may help one of the outputs.
    """
    if len(refused) == 1:
        return refused[0]
    first = next((one for one in refused if isinstance(one, Failed)), refused[0])
    others = [one for one in refused if one is not first]
    named = [one.message for one in (first, *others[: _NAMED_MAX - 1])]
    if len(refused) > _NAMED_MAX:
        named.append(f"and {len(refused) - _NAMED_MAX} more outputs were refused")
    message = "\n".join(dict.fromkeys(named))
    if isinstance(first, Failed):
        return Failed(first.reason, message, retry=any(map(_is_retried, refused)))
    times = [one.after for one in refused if isinstance(one, Wait)]
    known = [time for time in times if time is not None]
    return Wait(first.reason, message, after=min(known) if len(known) == len(times) else None)


def _is_retried(result: Wait | Failed) -> bool:
    return isinstance(result, Wait) or result.retry


def is_overtaken(error: Exception) -> bool:
    """Whether a write was refused because another writer changed the object after it was read.

    The server answers a failed ``test`` operation of a JSON patch with a 422 without causes.  So
    may a webhook, which is told by its text.
    """
    failed_test = (
        isinstance(error, InvalidError) and not error.causes and not is_denial(error.message)
    )
    return failed_test or isinstance(error, ConflictError)


def _failed(reason: str, fix: str = "") -> Callable[[ObjectRef, Any], Failed]:
    how = f".\n  fix: {fix}" if fix else ""

    def meaning(ref: ObjectRef, error: Any) -> Failed:
        return Failed(reason, f"{ref}: {getattr(error, 'message', '') or error}{how}")

    return meaning


def _invalid(ref: ObjectRef, error: InvalidError) -> Failed:
    """Name each field that the server refused."""
    return Failed(
        "Invalid",
        f"{ref}: {_fields(error)}.\n  fix: correct these fields where the output is built",
    )


def _wait(reason: str, text: str) -> Callable[[ObjectRef, Any], Wait]:
    return lambda ref, _error: Wait(reason, f"{ref} {text}")


def _unavailable(ref: ObjectRef, error: Any) -> Wait | Failed:
    """Return ``Wait`` for the time that the server asks for in Retry-After.

    Without one, or with 0 seconds, return ``Failed``, so that the retries back off.
    """
    seconds = getattr(error, "retry_after", None)
    if not seconds:
        return _failed("ApiUnavailable")(ref, error)
    return Wait("ApiUnavailable", f"{ref}: {error.message}", after=timedelta(seconds=seconds))


def _disputed(ref: ObjectRef, error: FieldConflictError) -> Failed:
    """Name each field and its manager: retries fail until one of the two gives up the field."""
    return Failed(
        "FieldConflict",
        f"{ref} was not applied: {_fields(error)}.\n"
        "  fix: apply it with force=True to take these fields, stop declaring them, "
        "or let the other field manager give them up",
    )


def _unknown_field(ref: ObjectRef, error: UnknownFieldError) -> Failed:
    """Name the unknown field.  With lenient validation the server would drop it silently."""
    return Failed(
        "UnknownField",
        f"{ref} was not written: {error.fields}.\n"
        "  fix: correct the name of the field, or update the CRD; "
        'field_validation="Warn" lets the server drop it',
    )


def _fields(error: ApiError) -> str:
    """Return the causes that the server listed, field by field, or else its message."""
    causes = [
        f"{cause.get('field')}: {cause.get('message')}"
        for cause in error.causes
        if cause.get("field")
    ]
    return "; ".join(causes) or error.message


# The first match wins, so a subclass comes before its base class.
_MEANINGS: tuple[tuple[type[Exception], Callable[[ObjectRef, Any], Wait | Failed]], ...] = (
    (UnknownClusterError, lambda _ref, error: Failed("ClusterUnknown", error)),
    (AlreadyOwnedError, lambda _ref, error: Failed("AlreadyOwned", error)),
    (NotAdoptedError, lambda _ref, error: Failed("AdoptionRefused", error)),
    (
        StalledError,
        lambda _ref, error: Wait(STALLED, str(error), after=timedelta(seconds=error.seconds)),
    ),
    (
        TerminatingError,
        _wait("ObjectTerminating", "is being deleted; it is created again when it is gone"),
    ),
    (MissingObjectError, _wait("ObjectMissing", "does not exist; it is patched when it does")),
    (
        NamespaceTerminatingError,
        _wait("NamespaceTerminating", "is in a namespace that is being deleted"),
    ),
    (QuotaExceededError, _failed("QuotaExceeded")),
    (
        AdmissionDeniedError,
        _failed("AdmissionDenied", "change the output, or the rule of the webhook or policy"),
    ),
    (
        ForbiddenError,
        _failed("Forbidden", "apply the role that `myrmidon generate rbac` writes"),
    ),
    (FieldConflictError, _disputed),
    (UnknownFieldError, _unknown_field),
    # No resourceVersion in the text: it would differ with every attempt.
    (ConflictError, _wait(CONFLICT, "was changed by another writer; it is read again and retried")),
    (InvalidError, _invalid),
    (TooLargeError, _failed("TooLarge", "spread the content over several objects")),
    (NotFoundError, _failed("NotFound", "create its namespace, or install its kind, before it")),
    (TooManyRequestsError, _unavailable),
    (ServerError, _unavailable),
    (RemoteUnavailableError, _failed("ClusterUnavailable")),
    (TransportError, _failed("ApiUnavailable")),
    (ApiError, _failed("Refused", "correct the output as the server's message says")),
)

"""What a refused write means for the state that wanted it.

Each refusal has a reason of its own, and a message that names the object and the field: a person
who reads the condition should not have to read the log.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from myrmidon.api.conditions import STALLED
from myrmidon.api.refs import ObjectRef
from myrmidon.errors import (
    AlreadyOwnedError,
    ApiError,
    ConflictError,
    FieldConflictError,
    ForbiddenError,
    InvalidError,
    LeadershipLostError,
    NamespaceTerminatingError,
    NotAdoptedError,
    NotFoundError,
    ProgrammingError,
    QuotaExceededError,
    ServerError,
    StalledError,
    TerminatingError,
    TooLargeError,
    TooManyRequestsError,
    TransportError,
    UnknownFieldError,
    UnreadableObjectError,
)
from myrmidon.fsm.results import Failed, Wait

CONFLICT = "ApplyOutputsConflict"


def refusal(ref: ObjectRef, error: Exception) -> Wait | Failed:
    """The result that stands for a write that did not succeed.

    Having lost the lease is no result of a state: it ends the process, so it is raised.
    """
    if isinstance(error, LeadershipLostError):
        raise error
    if isinstance(error, ProgrammingError | UnreadableObjectError):
        return Failed(error.reason, error, retry=False)
    for kind, meaning in _MEANINGS:
        if isinstance(error, kind):
            return meaning(ref, error)
    return Failed("InternalError", error)


def is_overtaken(error: Exception) -> bool:
    """Whether a write was refused because another party changed the object after it was read.

    A ``test`` operation of a JSON patch that does not hold is a 422 without causes.
    """
    failed_test = isinstance(error, InvalidError) and not error.causes
    return failed_test or isinstance(error, ConflictError)


def _failed(reason: str) -> Callable[[ObjectRef, Any], Failed]:
    return lambda ref, error: Failed(reason, f"{ref}: {getattr(error, 'message', '') or error}")


def _wait(reason: str, text: str) -> Callable[[ObjectRef, Any], Wait]:
    return lambda ref, _error: Wait(reason, f"{ref} {text}")


def _unavailable(ref: ObjectRef, error: Any) -> Wait | Failed:
    """The server is in trouble; if it says for how long, that is not a failure of the state.

    Where it says 0 seconds, or nothing, the delay grows from attempt to attempt.
    """
    seconds = getattr(error, "retry_after", None)
    if not seconds:
        return _failed("ApiUnavailable")(ref, error)
    return Wait("ApiUnavailable", f"{ref}: {error.message}", after=timedelta(seconds=seconds))


def _disputed(ref: ObjectRef, error: FieldConflictError) -> Failed:
    """Name each field and its manager: no retry helps until one of the two gives the field up."""
    return Failed(
        "FieldConflict",
        f"{ref} was not applied: {_fields(error)}.\n"
        "  fix: apply it with force=True to take these fields, stop declaring them, "
        "or let the other field manager give them up",
    )


def _unknown_field(ref: ObjectRef, error: UnknownFieldError) -> Failed:
    """Name the field: without the refusal the server would drop it, and all would look well."""
    return Failed(
        "UnknownField",
        f"{ref} was not written: {error.fields}.\n"
        "  fix: correct the name of the field, or update the CRD; "
        'field_validation="Warn" lets the server drop it',
    )


def _fields(error: ApiError) -> str:
    """Return the causes that the server listed, field by field; its message where it listed none."""
    causes = [
        f"{cause.get('field')}: {cause.get('message')}"
        for cause in error.causes
        if cause.get("field")
    ]
    return "; ".join(causes) or error.message


# In order: a more special error comes before the one it is a kind of.
_MEANINGS: tuple[tuple[type[Exception], Callable[[ObjectRef, Any], Wait | Failed]], ...] = (
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
    (
        NamespaceTerminatingError,
        _wait("NamespaceTerminating", "is in a namespace that is being deleted"),
    ),
    (QuotaExceededError, _failed("QuotaExceeded")),
    (ForbiddenError, _failed("Forbidden")),
    (FieldConflictError, _disputed),
    (UnknownFieldError, _unknown_field),
    # No version in the text: it would differ with every attempt.
    (ConflictError, _wait(CONFLICT, "was changed by somebody else; it is read again and retried")),
    (InvalidError, lambda ref, error: Failed("Invalid", f"{ref}: {_fields(error)}")),
    (TooLargeError, _failed("TooLarge")),
    (NotFoundError, _failed("NotFound")),
    (TooManyRequestsError, _unavailable),
    (ServerError, _unavailable),
    (TransportError, _failed("ApiUnavailable")),
    (ApiError, _failed("Refused")),
)

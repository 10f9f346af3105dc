"""What a refused write means for the state that wanted it.

Each refusal has a reason of its own, and a message that names the object and the field: a person
who reads the condition should not have to read the log.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from myrmidon.api.refs import ObjectRef
from myrmidon.errors import (
    AlreadyOwnedError,
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    LeadershipLostError,
    NamespaceTerminatingError,
    NotFoundError,
    ProgrammingError,
    QuotaExceededError,
    ServerError,
    TerminatingError,
    TooLargeError,
    TooManyRequestsError,
    TransportError,
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


def _failed(reason: str) -> Callable[[ObjectRef, Any], Failed]:
    return lambda ref, error: Failed(reason, f"{ref}: {getattr(error, 'message', '') or error}")


def _wait(reason: str, text: str) -> Callable[[ObjectRef, Any], Wait]:
    return lambda ref, _error: Wait(reason, f"{ref} {text}")


def _unavailable(ref: ObjectRef, error: Any) -> Wait | Failed:
    """The server is in trouble; where it says for how long, that is no failure of ours."""
    seconds = getattr(error, "retry_after", None)
    if seconds is None:
        return _failed("ApiUnavailable")(ref, error)
    return Wait("ApiUnavailable", f"{ref}: {error.message}", after=timedelta(seconds=seconds))


def _fields(error: InvalidError) -> str:
    """The causes that the server listed, field by field; its message where it listed none."""
    causes = [
        f"{cause.get('field')}: {cause.get('message')}"
        for cause in error.causes
        if cause.get("field")
    ]
    return "; ".join(causes) or error.message


# In order: a more special error comes before the one it is a kind of.
_MEANINGS: tuple[tuple[type[Exception], Callable[[ObjectRef, Any], Wait | Failed]], ...] = (
    (AlreadyOwnedError, lambda _ref, error: Failed("AlreadyOwned", error)),
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

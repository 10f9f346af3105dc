"""What a refused write means for the state that wanted it.

Each refusal has a reason of its own, and a message that names the object and the field: a person
who reads the condition should not have to read the log.
"""

from myrmidon.api.refs import ObjectRef
from myrmidon.errors import (
    AlreadyOwnedError,
    ApiError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NamespaceTerminatingError,
    NotFoundError,
    ProgrammingError,
    QuotaExceededError,
    TerminatingError,
    TooLargeError,
    TransportError,
)
from myrmidon.fsm.results import Failed, Wait

CONFLICT = "ApplyOutputsConflict"


def refusal(ref: ObjectRef, error: Exception) -> Wait | Failed:
    """The result that stands for a write that did not succeed."""
    match error:
        case ProgrammingError():
            return Failed(error.reason, error, retry=False)
        case AlreadyOwnedError():
            return Failed("AlreadyOwned", error)
        case TerminatingError():
            return Wait("ObjectTerminating", str(error))
        case NamespaceTerminatingError():
            return Wait("NamespaceTerminating", f"{ref}: its namespace is being deleted")
        case QuotaExceededError():
            return Failed("QuotaExceeded", f"{ref}: {error.message}")
        case ForbiddenError():
            return Failed("Forbidden", f"{ref}: {error.message}")
        case ConflictError():
            # Somebody else wrote first; no version in the text, it would differ every time.
            return Wait(
                CONFLICT, f"{ref} was changed by somebody else; it is read again and retried"
            )
        case InvalidError():
            return Failed("Invalid", f"{ref}: {_fields(error)}")
        case TooLargeError():
            return Failed("TooLarge", f"{ref}: {error.message}")
        case NotFoundError():
            return Failed(
                "NotFound", f"{ref}: {error.message or 'the server does not know the kind'}"
            )
        case ApiError() if error.status >= 500 or error.status == 429:
            return Failed("ApiUnavailable", f"{ref}: {error}")
        case ApiError():
            return Failed("Refused", f"{ref}: {error}")
        case TransportError():
            return Failed("ApiUnavailable", f"{ref}: {error}")
        case _:
            return Failed("InternalError", error)


def _fields(error: InvalidError) -> str:
    """The causes that the server listed, field by field; its message where it listed none."""
    causes = [
        f"{cause.get('field')}: {cause.get('message')}"
        for cause in error.causes
        if cause.get("field")
    ]
    return "; ".join(causes) or error.message

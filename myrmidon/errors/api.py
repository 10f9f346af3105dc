"""Refusals by the API server: one class per meaning, built from its answer by ``api_error``."""

import re
from collections.abc import Mapping
from math import isnan
from typing import Any

from myrmidon.errors.root import MyrmidonError

RETRY_AFTER_SECONDS_MAX = 60.0


class ApiError(MyrmidonError):
    """The server refused the request.  The attributes are those of the Status object that it sent.

    ``retry_after`` is the number of seconds that the server asks the client to wait, at most
    ``RETRY_AFTER_SECONDS_MAX``; None if it does not say.
    """

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
    """400: the server cannot decode the request."""


class UnknownFieldError(ApiError):
    """The object has a field that its schema does not have, and the server refused to drop it.

    400 for a create or update, 422 for a patch, 500 for a server-side apply.
    """

    @property
    def fields(self) -> str:
        """The part of the message about the fields, without the printed object before it."""
        return self.message.rpartition(_STRICT)[2].rpartition(_TYPED)[2].strip()


class UnauthorizedError(ApiError):
    """401: the token is wrong or has expired."""


class ForbiddenError(ApiError):
    """403: RBAC or admission refused."""


class NamespaceTerminatingError(ForbiddenError):
    """403: nothing can be created in a namespace that is being deleted."""


class QuotaExceededError(ForbiddenError):
    """403: a ResourceQuota is used up."""


class AdmissionDeniedError(ForbiddenError):
    """403 or 400: a webhook or an admission policy refused the write."""


class NotFoundError(ApiError):
    """404: no such object, or no such kind."""


class ConflictError(ApiError):
    """409: the object has changed since it was read; see the subclasses for other conflicts."""


class AlreadyExistsError(ConflictError):
    """409: the object to create exists already."""


class FieldConflictError(ConflictError):
    """409: a server-side apply sets fields that another field manager owns."""


class ExpiredError(ApiError):
    """410: the resourceVersion or page asked for is no longer available (compacted)."""


class TooLargeError(ApiError):
    """413: the request is too large."""


class InvalidError(ApiError):
    """422: the object does not validate."""


class TooManyRequestsError(ApiError):
    """429: the server asks the client to send fewer requests."""


class ServerError(ApiError):
    """5xx: the server failed; a write may or may not have taken effect."""


# These refusals have no reason or cause of their own; only the text identifies them.
_STRICT = "strict decoding error:"  # of fieldValidation=Strict
_TYPED = (
    "failed to create typed patch object"  # of a server-side apply that does not fit the schema
)
_UNDECLARED = "field not declared in schema"
_DENIED = re.compile(r"(?:admission webhook|ValidatingAdmissionPolicy) .* denied (?:the )?request")

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
    """Return the seconds that a Retry-After header or a Status asks the client to wait.

    At most a minute, so that a faulty server or proxy cannot stop an object or a watch for a day.
    None if the value is not a number.
    """
    try:
        seconds = float(asked)
    except (TypeError, ValueError, OverflowError):
        return None
    if isnan(seconds):
        return None
    return min(max(0.0, seconds), RETRY_AFTER_SECONDS_MAX)


def is_denial(message: str) -> bool:
    """Whether a webhook or an admission policy refused the write, by the text of the server."""
    return _DENIED.search(message) is not None


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
    elif status in (400, 403) and is_denial(message):
        kind = AdmissionDeniedError
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

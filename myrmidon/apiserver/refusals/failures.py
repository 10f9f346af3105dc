"""Error responses of the server: Status objects, raised as exceptions.

The messages, reasons and codes are those of kube-apiserver, because clients parse them and people
search for them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.text import quote


class StatusCause(NamedTuple):
    """One of the causes of an invalid object: the field, the reason and a message."""

    field: str
    reason: str
    message: str

    def to_json(self) -> Json:
        """Return the cause as the server sends it, without empty fields."""
        sent = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in sent.items() if value}


class Failure(Exception):  # noqa: N818 - the API's own word: `status: Failure`
    """A response with an error status.

    ``kind`` is the plural or the Kind: the real server uses both in ``details.kind``.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        group: str = "",
        kind: str = "",
        name: str = "",
        uid: str = "",
        causes: Iterable[StatusCause] = (),
        retry_after: int | None = None,
        details: bool = True,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.group, self.kind, self.name, self.uid = group, kind, name, uid
        self.causes, self.retry_after = tuple(causes), retry_after
        self.with_details = details
        self.continue_token = ""  # lets the client continue a list that has expired

    def to_json(self) -> Json:
        """Return the Status object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.with_details:
            status["details"] = self._details()
        status["code"] = self.code
        return status

    def _details(self) -> Json:
        details: dict[str, Any] = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [cause.to_json() for cause in self.causes],
            "retryAfterSeconds": self.retry_after,
        }
        return {key: value for key, value in details.items() if value}


# ------------------------------------------------------------------------- common failures
#
# ``kind`` (or ``plural``) and ``group`` are separate arguments, as they are in a Status.


def qualified(kind: str, group: str) -> str:
    """Return the resource or kind with its group: ``widgets.example.com``, or ``configmaps``."""
    return f"{kind}.{group}" if group else kind


def bad_request(message: str) -> Failure:
    """Return a 400: the request is malformed."""
    return Failure(400, "BadRequest", message, details=False)


def not_found(plural: str, group: str, name: str) -> Failure:
    """Return a 404: the object does not exist."""
    return Failure(
        404,
        "NotFound",
        f"{qualified(plural, group)} {quote(name)} not found",
        group=group,
        kind=plural,
        name=name,
    )


def unknown_resource() -> Failure:
    """Return a 404: a built-in API group does not have this path."""
    return Failure(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> Failure:
    """Return a 405: the path exists, but does not take this method."""
    return Failure(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def verb_not_supported(verb: str, plural: str, group: str) -> Failure:
    """Return the 405 of a custom resource, which names the verb."""
    return Failure(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{qualified(plural, group)}"',
        group=group,
        kind=plural,
    )


def forbidden_object(plural: str, group: str, name: str, problem: str) -> Failure:
    """Return a 403 of an admission step: the object may not be written as it is."""
    return Failure(
        403,
        "Forbidden",
        f"{qualified(plural, group)} {quote(name)} is forbidden: {problem}",
        group=group,
        kind=plural,
        name=name,
    )


def already_exists(plural: str, group: str, name: str) -> Failure:
    """Return a 409: an object of that name exists."""
    return Failure(
        409,
        "AlreadyExists",
        f"{qualified(plural, group)} {quote(name)} already exists",
        group=group,
        kind=plural,
        name=name,
    )


def conflict(plural: str, group: str, name: str, problem: str) -> Failure:
    """Return a 409: another client wrote first."""
    return Failure(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {qualified(plural, group)} {quote(name)}: {problem}",
        group=group,
        kind=plural,
        name=name,
    )


def invalid_object(kind: str, group: str, name: str, causes: Iterable[StatusCause]) -> Failure:
    """Return a 422 with the causes: the object has invalid fields."""
    listed = tuple(causes)
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in listed))
    problem = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Failure(
        422,
        "Invalid",
        f"{qualified(kind, group)} {quote(name)} is invalid: {problem}",
        group=group,
        kind=kind,
        name=name,
        causes=listed,
    )


def internal(message: str) -> Failure:
    """Return a 500 without a reason: the server's response to a plain Go error."""
    return Failure(500, "", message, details=False)


def internal_error(problem: str) -> Failure:
    """Return a 500 with a reason: the server's response to a Go error wrapped as InternalError."""
    return Failure(
        500,
        "InternalError",
        f"Internal error occurred: {problem}",
        causes=[StatusCause("", "", problem)],
    )


def unsupported_media_type(message: str) -> Failure:
    """Return a 415: the resource does not accept bodies in this format."""
    return Failure(415, "UnsupportedMediaType", message, details=False)

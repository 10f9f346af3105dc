"""What the server says when it says no: Status objects, as exceptions.

The texts and codes are those of kube-apiserver.  Clients parse them, and so do people.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.text import quote


class StatusCause(NamedTuple):
    """One reason among several: which field, what kind of trouble, and a sentence."""

    field: str
    reason: str
    message: str

    def to_json(self) -> Json:
        """The cause as the server sends it; an empty field is left out."""
        sent = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in sent.items() if value}


class Failure(Exception):  # noqa: N818 - the word for what is sent, as in a Status' `status: Failure`
    """An answer with an error status.  ``kind`` is the plural or the Kind, as the real server mixes them."""

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
        self.continue_token = ""  # how to go on with a list that has expired

    def to_json(self) -> Json:
        """The Status object."""
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


# ------------------------------------------------------------------------- the usual ones
#
# ``resource`` is ``widgets.example.com``; ``kind`` and ``group`` are apart, as a Status has them.


def qualified(kind: str, group: str) -> str:
    """``widgets.example.com``, or ``configmaps``."""
    return f"{kind}.{group}" if group else kind


def bad_request(message: str) -> Failure:
    """400: the request makes no sense."""
    return Failure(400, "BadRequest", message, details=False)


def not_found(plural: str, group: str, name: str) -> Failure:
    """404: no such object."""
    return Failure(
        404,
        "NotFound",
        f"{qualified(plural, group)} {quote(name)} not found",
        group=group,
        kind=plural,
        name=name,
    )


def unknown_resource() -> Failure:
    """404: no such path in a group of the server."""
    return Failure(404, "NotFound", "the server could not find the requested resource")


def method_not_allowed() -> Failure:
    """405: the path is there, the method is not."""
    return Failure(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def verb_not_supported(verb: str, plural: str, group: str) -> Failure:
    """405 of a custom resource, which names the verb."""
    return Failure(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{qualified(plural, group)}"',
        group=group,
        kind=plural,
    )


def already_exists(plural: str, group: str, name: str) -> Failure:
    """409: the object to create exists."""
    return Failure(
        409,
        "AlreadyExists",
        f"{qualified(plural, group)} {quote(name)} already exists",
        group=group,
        kind=plural,
        name=name,
    )


def conflict(plural: str, group: str, name: str, problem: str) -> Failure:
    """409: another client wrote first."""
    return Failure(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {qualified(plural, group)} {quote(name)}: {problem}",
        group=group,
        kind=plural,
        name=name,
    )


def invalid_object(kind: str, group: str, name: str, causes: Iterable[StatusCause]) -> Failure:
    """422: the object breaks rules."""
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
    """500 without a reason: what Go returns as a plain error."""
    return Failure(500, "", message, details=False)


def internal_error(problem: str) -> Failure:
    """500 with a reason: what Go wraps as an internal error."""
    return Failure(
        500,
        "InternalError",
        f"Internal error occurred: {problem}",
        causes=[StatusCause("", "", problem)],
    )


def unsupported_media_type(message: str) -> Failure:
    """415: a body in a format that the resource does not take."""
    return Failure(415, "UnsupportedMediaType", message, details=False)

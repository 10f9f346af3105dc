"""What the server says when it says no: Status objects, as exceptions.

The texts and codes are those of kube-apiserver.  Clients parse them, and so do people.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from myrmidon.api.objects import Json


class Cause(NamedTuple):
    """One reason among several: which field, what kind of trouble, and a sentence."""

    field: str
    reason: str
    message: str

    def to_json(self) -> Json:
        """The cause as the server sends it; an empty field is left out."""
        sent = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in sent.items() if value}


class Failure(Exception):  # noqa: N818 - the word for what is sent, as in a Status' `status: Failure`
    """An answer that is no success.  ``kind`` is the plural or the Kind, as the real server mixes them."""

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
        causes: Iterable[Cause] = (),
        retry_after: int | None = None,
        details: bool = True,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.group, self.kind, self.name, self.uid = group, kind, name, uid
        self.causes, self.retry_after = tuple(causes), retry_after
        self.with_details = details

    def to_json(self) -> Json:
        """The Status object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
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

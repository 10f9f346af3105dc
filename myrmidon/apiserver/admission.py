"""Steps between decoding and validating a write: they may change the object, or refuse it.

A step is a plain function of values.  One that has to ask somebody over the network raises
``Ask``: the front of the server sends the question, and runs the request again with the reply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from myrmidon.api.objects import Json

if TYPE_CHECKING:
    from myrmidon.apiserver.call import Call

Replies: TypeAlias = dict[str, Any]  # by the key of the question


class Ask(Exception):  # noqa: N818 - a question, not an error
    """A question to a webhook, and the key under which its reply is wanted."""

    def __init__(self, key: str, question: Mapping[str, Any]) -> None:
        super().__init__(key)
        self.key, self.question = key, question


@dataclass(slots=True)
class Admission:
    """A write that is about to happen.  ``obj`` is None for a deletion, ``old`` for a creation."""

    call: "Call"
    operation: str  # CREATE, UPDATE, DELETE
    obj: Json | None
    old: Json | None
    subresource: str = ""


class AdmissionStep(Protocol):
    """Looks at a write before it happens."""

    def admit(self, admission: Admission) -> Json | None:
        """Return a changed object, or None to leave it as it is; raise ``Failure`` to refuse."""
        ...

    def check(self, admission: Admission) -> None:
        """Look at the final object; raise ``Failure`` to refuse."""
        ...


def run_mutating(admission: Admission) -> Json | None:
    """Let every step change the object."""
    for step in admission.call.core.admission:
        changed = step.admit(admission)
        if changed is not None:
            admission.obj = changed
    return admission.obj


def run_validating(admission: Admission) -> None:
    """Let every step refuse the object."""
    for step in admission.call.core.admission:
        step.check(admission)

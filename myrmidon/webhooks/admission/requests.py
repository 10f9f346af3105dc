"""AdmissionRequest: the write that a validator judges; AdmissionContext: what it may read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, cast

from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.context import Log, Reader
from myrmidon.webhooks.admission.declarations import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user who sent a request, as the API server has authenticated it."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InvalidField:
    """One reason for a refusal: a field, as in ``spec.hosts[0]``, and what is wrong with it.

    Without a field, the message is about the write as a whole.
    """

    field: str
    message: str


@dataclass(slots=True)
class AdmissionRequest(Generic[T]):
    """One write: who sends it, what it does, and the object as it was before.

    ``refuse`` and ``warn`` collect; a test of a validator can look at ``problems`` and ``warnings``.
    """

    operation: Operation
    name: str = ""
    """The name of the object; empty for a create with ``generateName``."""
    namespace: str = ""
    user: UserInfo = field(default_factory=UserInfo)
    dry_run: bool = False
    """Whether the write is checked, but not stored."""
    uid: str = ""
    """The identifier of this request."""
    raw: Json = field(default_factory=dict)
    """The request as the API server sent it: its options, its kind, both objects as JSON."""
    problems: list[InvalidField] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    read: Callable[[Json], T] | None = None
    """Turns JSON into an object of the class."""

    @property
    def old(self) -> T | None:
        """The object before the write; None for a create.

        Raises ``UnfitObjectError`` if it does not fit its model; ``old_raw`` is always there.
        """
        raw = self.old_raw
        if raw is None:
            return None
        return cast("T", raw) if self.read is None else self.read(raw)

    @property
    def old_raw(self) -> Json | None:
        """The object before the write as JSON; None for a create."""
        found: Json | None = self.raw.get("oldObject")
        return found

    def refuse(self, field: str, message: str) -> None:
        """Refuse the write because of a field, as in ``refuse("spec.image", "must name a version")``.

        May be called several times: the user sees all problems at once.  With an empty ``field``, the
        write itself is forbidden.
        """
        self.problems.append(InvalidField(field, message))

    def warn(self, message: str) -> None:
        """Show a warning to the user who sends the write, as kubectl does; it does not refuse it."""
        self.warnings.append(message)


class AdmissionContext(Reader, Protocol):
    """Reads and logging for a validator: the last parameter of its method, if it has one more.

    ``get`` and ``list`` are answered from the caches of the process, for the kinds in ``reads``.  By
    default they look in the namespace of the object.
    """

    @property
    def now(self) -> datetime:
        """The time of the request."""
        ...

    @property
    def log(self) -> Log:
        """A logger whose lines carry the webhook and the object."""
        ...


def request_of(review: Any, read: Callable[[Json], Any] | None) -> AdmissionRequest[Any]:
    """Return the request in an AdmissionReview; raise ``ValueError`` if it is not one."""
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict) or review.get("kind") != "AdmissionReview":
        raise ValueError("the body is not an AdmissionReview with a request")
    if review.get("apiVersion") != "admission.k8s.io/v1":
        raise ValueError(
            f"AdmissionReview of {review.get('apiVersion')!r}, not admission.k8s.io/v1"
        )
    operation = str(request.get("operation")).lower()
    if operation not in ("create", "update", "delete"):
        raise ValueError(f"the operation {request.get('operation')!r} is not validated here")
    user = request.get("userInfo") or {}
    extra = {key: tuple(values) for key, values in (user.get("extra") or {}).items()}
    return AdmissionRequest(
        operation=cast("Operation", operation),
        name=str(request.get("name") or ""),
        namespace=str(request.get("namespace") or ""),
        user=UserInfo(
            str(user.get("username") or ""),
            str(user.get("uid") or ""),
            tuple(user.get("groups") or ()),
            extra,
        ),
        dry_run=bool(request.get("dryRun")),
        uid=str(request.get("uid") or ""),
        raw=request,
        read=read,
    )

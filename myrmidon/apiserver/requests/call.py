"""One API request in progress (``Call``), and the server state that all requests share (``Core``).

A request that needs the answer of a webhook is abandoned (``WebhookNeeded``) and run again from its
start as soon as the answer has arrived.  ``Draws`` keeps the time, the uids, the name suffixes and
the webhook replies of the request between these runs, so that each run makes the same decisions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, split_api_version
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.auth.account_tokens import AccountTokens
from myrmidon.apiserver.auth.users import Attributes, Authorizer, Tokens, User
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.refusals.failures import (
    Failure,
    StatusCause,
    conflict,
    invalid_object,
    not_found,
)
from myrmidon.apiserver.requests.environment import Environment
from myrmidon.apiserver.requests.routing import Route
from myrmidon.apiserver.resources.conversions import Conversions
from myrmidon.apiserver.resources.registry import Registry, ResourceType
from myrmidon.apiserver.store import ObjectStore, Record

Replies: TypeAlias = dict[str, Any]  # webhook replies, by the key of the question


class WebhookNeeded(Exception):  # noqa: N818 - a question, not an error
    """Stops a request until the webhook in ``question`` has replied; ``key`` names the reply."""

    def __init__(self, key: str, question: Mapping[str, Any]) -> None:
        super().__init__(key)
        self.key, self.question = key, question


@dataclass(slots=True)
class Core:
    """The parts of the server that every request uses."""

    store: ObjectStore
    registry: Registry
    environment: Environment
    authorizer: Authorizer
    accounts: AccountTokens
    tokens: Tokens = field(default_factory=Tokens)
    admission: list["AdmissionStep"] = field(default_factory=list)
    conversions: Conversions = field(default_factory=Conversions)
    feature_gates: frozenset[str] = frozenset()
    """The feature gates that are on; see ``server.FEATURE_GATES``."""


class Draws:
    """The time, the uids and the random name suffixes of one request.

    A request that waits for a webhook is run again from its start.  It must then see the same time
    and get the same uids, so each value is drawn once and kept.  The time has whole seconds, as all
    times have that the server writes.

    It also keeps what the request has asked webhooks, and what they replied.  A reply counts only for
    the review that was asked: if another client has changed the object in the meantime, the webhook is
    asked again.
    """

    reviews: Mapping[str, tuple[Json, str]] = MappingProxyType(
        {}
    )  # by key: the request, and its uid
    collection: Any = None  # of a deletecollection: its objects, and those that are done

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._uids: list[str] = []
        self._suffixes: list[str] = []
        self._uid_index = self._suffix_index = 0
        self.now: datetime = environment.now().replace(microsecond=0)
        self.replies: Replies = {}

    def rewind(self) -> None:
        """Start another run, which gets the values drawn before in the same order."""
        self._uid_index = self._suffix_index = 0

    def uid(self) -> str:
        """Return the next uid of this request."""
        self._uid_index += 1
        if self._uid_index > len(self._uids):
            self._uids.append(self._environment.uid())
        return self._uids[self._uid_index - 1]

    def ask(self, key: str, request: Json) -> str:
        """Note that a webhook is about to be asked a question; return the uid of the review."""
        uid = self._environment.uid()
        self.reviews = {**self.reviews, key: (request, uid)}
        self.replies.pop(key, None)
        return uid

    def suffix(self) -> str:
        """Return the next random name suffix of this request."""
        self._suffix_index += 1
        if self._suffix_index > len(self._suffixes):
            self._suffixes.append(self._environment.suffix())
        return self._suffixes[self._suffix_index - 1]


@dataclass(slots=True)
class Call:
    """One request about one resource."""

    core: Core
    request: HttpRequest
    query: dict[str, str]
    user: User
    route: Route
    type: ResourceType
    draws: Draws
    warnings: list[str] = field(default_factory=list)
    dry_run: bool = False
    delete_options: Json | None = None  # of a delete, as the client sent them
    field_manager: str = ""
    field_validation: str = "Warn"
    charges: Sequence[tuple[Record, Json]] = ()
    """ResourceQuotas that the write is charged to, each with its new status."""

    @property
    def timestamp(self) -> str:
        """The time of the request, in the format of the API."""
        return write_time(self.draws.now)

    @property
    def key(self) -> str:
        """The store key of the object that the path names."""
        return self.type.key(self.route.namespace, self.route.name)

    def warn(self, *texts: str) -> None:
        """Add warnings to the response, each text once."""
        for text in texts:
            if text not in self.warnings:
                self.warnings.append(text)

    @property
    def group(self) -> str:
        """The API group in error messages: that of the storage version, which may differ."""
        stored = self.type.storage_api_version
        return stored.rpartition("/")[0] if stored else self.type.kind.group

    def stored(self) -> Record:
        """Return the stored object that the path names.  Raise a 404 if it does not exist."""
        record = self.core.store.get(self.type.stored_as, self.key)
        if record is None:
            raise self.not_found()
        return record

    def not_found(self, name: str | None = None) -> Failure:
        """Return the 404 for the object that the path names, or for ``name``."""
        kind = self.type.kind
        return not_found(kind.plural, self.group, self.route.name if name is None else name)

    def conflict(self, problem: str, name: str | None = None) -> Failure:
        """Return the 409 for an object that another client changed in the meantime."""
        kind = self.type.kind
        return conflict(kind.plural, self.group, name or self.route.name, problem)

    def invalid(self, obj: Json, name: str, causes: list[StatusCause]) -> Failure:
        """Return the 422 for an object with invalid fields, named by the kind in the object."""
        group = self.group
        if self.type.custom and "apiVersion" in obj:
            group = split_api_version(obj["apiVersion"])[0]
        return invalid_object(obj.get("kind", ""), group, name, causes)

    def attributes(self) -> Attributes:
        """Return the request as the authorizer sees it."""
        route = self.route
        return Attributes(
            route.verb,
            route.group,
            route.version,
            route.plural,
            route.subresource,
            route.namespace,
            route.name,
        )


@dataclass(slots=True)
class PendingWrite:
    """A write before it is stored.  ``obj`` is None for a delete, ``old`` is None for a create.

    Steps that change the object set ``is_changed``: the steps are then run a second time, so that those
    that ask for it see the changes of later ones.  ``again`` is True in this second round, and ``notes``
    holds what a step has to remember from the first.
    """

    call: Call
    operation: str  # CREATE, UPDATE, DELETE
    obj: Json | None
    old: Json | None
    subresource: str = ""
    kind: Kind | None = (
        None  # of the objects, where it is not that of the resource: Scale, Eviction
    )
    is_changed: bool = False
    again: bool = False
    notes: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name in the request; ``""`` for a deletecollection, and before a name is generated."""
        route_name = self.call.route.name
        if route_name or self.obj is None or self.operation != "CREATE":
            return route_name
        return str((self.obj.get("metadata") or {}).get("name", ""))

    @property
    def shown_name(self) -> str:
        """The name in error messages."""
        if self.name or self.obj is None:
            return self.name or "Unknown"
        return str((self.obj.get("metadata") or {}).get("generateName") or "Unknown")

    @property
    def namespace(self) -> str:
        """The namespace of the request; a Namespace is in itself."""
        is_namespace = self.call.type.stored_as == "namespaces"
        return self.name if is_namespace else self.call.route.namespace

    def forbidden(self, problem: str, causes: Iterable[StatusCause] = ()) -> Failure:
        """Return the 403 of an admission step."""
        kind = self.call.type.kind
        return Failure(
            403,
            "Forbidden",
            f"{self.call.type.resource} {quote(self.shown_name)} is forbidden: {problem}",
            group=kind.group,
            kind=kind.plural,
            name=self.shown_name,
            causes=causes,
        )


class AdmissionStep(Protocol):
    """Inspects a write before it is stored, and may change or refuse it."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Return a changed object, or None to leave it as it is; raise ``Failure`` to refuse."""
        ...

    def check(self, admission: PendingWrite) -> None:
        """Check the final object; raise ``Failure`` to refuse the write."""
        ...

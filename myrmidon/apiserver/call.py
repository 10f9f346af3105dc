"""One request on its way through the server, and what it gathers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import split_api_version
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.auth.users import Attributes, Authorizer, Tokens, User
from myrmidon.apiserver.environment import Environment
from myrmidon.apiserver.failures import Failure, StatusCause, conflict, invalid_object, not_found
from myrmidon.apiserver.resources.registry import Registry, ResourceType
from myrmidon.apiserver.routing import Route
from myrmidon.apiserver.store import ObjectStore, Record

Replies: TypeAlias = dict[str, Any]  # by the key of the question


class WebhookNeeded(Exception):  # noqa: N818 - a question, not an error
    """A question to a webhook, and the key under which its reply is wanted."""

    def __init__(self, key: str, question: Mapping[str, Any]) -> None:
        super().__init__(key)
        self.key, self.question = key, question


@dataclass(slots=True)
class Core:
    """What every pipeline works on."""

    store: ObjectStore
    registry: Registry
    environment: Environment
    authorizer: Authorizer
    tokens: Tokens = field(default_factory=Tokens)
    admission: list["AdmissionStep"] = field(default_factory=list)


class Draws:
    """The time and the identifiers of one request.

    A request that has to wait for a webhook is run again from its start; it must then meet the
    same time and get the same uids, so they are drawn once and kept.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._uids: list[str] = []
        self._suffixes: list[str] = []
        self._uid_index = self._suffix_index = 0
        self.now: datetime = environment.now()
        self.replies: Replies = {}

    def rewind(self) -> None:
        """Begin again with what was drawn before."""
        self._uid_index = self._suffix_index = 0

    def uid(self) -> str:
        """A new uid."""
        self._uid_index += 1
        if self._uid_index > len(self._uids):
            self._uids.append(self._environment.uid())
        return self._uids[self._uid_index - 1]

    def suffix(self) -> str:
        """A new random suffix."""
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
    field_manager: str = ""
    field_validation: str = "Warn"

    @property
    def timestamp(self) -> str:
        """The time of the request as the API writes it."""
        return write_time(self.draws.now)

    @property
    def key(self) -> str:
        """The key of the object that the path names."""
        return self.type.key(self.route.namespace, self.route.name)

    def warn(self, *texts: str) -> None:
        """Let the answer carry warnings, each one once."""
        for text in texts:
            if text not in self.warnings:
                self.warnings.append(text)

    @property
    def group(self) -> str:
        """The group in failures: that of the type behind the resource, which may be another one."""
        stored = self.type.storage_api_version
        return stored.rpartition("/")[0] if stored else self.type.kind.group

    def stored(self) -> Record:
        """The object that the path names; raises where there is none."""
        record = self.core.store.get(self.type.stored_as, self.key)
        if record is None:
            raise self.not_found()
        return record

    def not_found(self, name: str | None = None) -> Failure:
        """The object is not there."""
        kind = self.type.kind
        return not_found(kind.plural, self.group, self.route.name if name is None else name)

    def conflict(self, problem: str, name: str | None = None) -> Failure:
        """The object has changed meanwhile."""
        kind = self.type.kind
        return conflict(kind.plural, self.group, name or self.route.name, problem)

    def invalid(self, obj: Json, name: str, causes: list[StatusCause]) -> Failure:
        """The object breaks rules.  It is named by the kind that it claims to be."""
        group = self.group
        if self.type.custom and "apiVersion" in obj:
            group = split_api_version(obj["apiVersion"])[0]
        return invalid_object(obj.get("kind", ""), group, name, causes)

    def attributes(self) -> Attributes:
        """What the user wants to do."""
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
class Admission:
    """A write that is about to happen.  ``obj`` is None for a deletion, ``old`` for a creation."""

    call: Call
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

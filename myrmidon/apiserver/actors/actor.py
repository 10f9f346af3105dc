"""The interface of controllers inside the server (actors), and what they can use of the server.

The server passes every change of a stored object to ``observe``, where an actor only takes notes.
After a request was answered, the server calls ``act`` of all actors until none of them writes any
more.  An actor has no task or timer of its own: for work that depends on time, ``due`` says when
``act`` should be called next.  A simulator can therefore decide when an actor runs.
"""

from datetime import datetime
from typing import Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.requests.call import Core
from myrmidon.apiserver.store import ObjectStore, StoredChange


class ServerAccess(Protocol):
    """The server as actors see it: its stored objects, and requests as a user of their own."""

    @property
    def core(self) -> Core:
        """The core of the server: the registry of resource types, the environment and more."""
        ...

    @property
    def store(self) -> ObjectStore:
        """The stored objects."""
        ...

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        user: User = ...,
        content_type: str = ...,
        query: tuple[tuple[str, str], ...] = (),
    ) -> HttpResponse:
        """Answer a request at once, without calling webhooks."""
        ...


class Actor(Protocol):
    """A controller inside the server."""

    def observe(self, change: StoredChange) -> None:
        """Note which work follows from a change."""
        ...

    def act(self, server: ServerAccess) -> bool:
        """Do all work that is due; return whether anything was written."""
        ...

    def due(self) -> datetime | None:
        """Return when to call ``act`` even if no object changes; None for never."""
        ...

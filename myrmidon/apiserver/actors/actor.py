"""Controllers that the server runs in itself, and what they may do with it.

An actor sees every change and acts when the server settles, which is after an answer has been made.
Nothing runs by itself, so a simulator decides when an actor may work.
"""

from datetime import datetime
from typing import Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.call import Core
from myrmidon.apiserver.store import ObjectStore, StoredChange


class ServerAccess(Protocol):
    """The server as its actors see it: the stored objects, and requests as a user of their own."""

    @property
    def core(self) -> Core:
        """The registry of resource types, the environment and the rest."""
        ...

    @property
    def store(self) -> ObjectStore:
        """The objects."""
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
        """Answer a request at once, without asking webhooks."""
        ...


class Actor(Protocol):
    """A controller inside the server."""

    def observe(self, change: StoredChange) -> None:
        """See a change; remember what to do about it."""
        ...

    def act(self, server: ServerAccess) -> bool:
        """Do what is to be done now; whether anything was written."""
        ...

    def due(self) -> datetime | None:
        """When to act next although no object changes; None: never."""
        ...

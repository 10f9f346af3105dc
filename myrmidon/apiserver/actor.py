"""What happens beside the requests: controllers that the server runs in itself.

An actor sees every change and acts when the server settles, which is after an answer has been
made.  Nothing runs by itself, so a simulator decides when an actor may work.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from myrmidon.apiserver.store import Change

if TYPE_CHECKING:
    from myrmidon.apiserver.server import ApiServer


class Actor(Protocol):
    """A controller inside of the server."""

    def observe(self, change: Change) -> None:
        """See a change; remember what to do about it."""
        ...

    def act(self, server: "ApiServer") -> bool:
        """Do what is to be done now; whether anything was written."""
        ...

    def due(self) -> datetime | None:
        """When there is something to do although nothing changes; None: never."""
        ...

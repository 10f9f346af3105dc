"""ExternalStandIn: an external system in memory that loses answers and shows its resources late.

    cloud = ExternalStandIn(faults=Script({1: Lose()}, is_write))
    with Harness(DatabaseClaims(cloud)) as cluster: ...
    assert len(cloud.resources) == 1

The ``External`` of a controller calls its methods instead of a real API.  A call is announced to
``faults`` as a request: POST, GET, PATCH or DELETE, and the path ``/<id or token>``.  So ``Script``
and ``is_write`` work for it as they do for the API server:

    before it acts     Refuse, Hang, Delay, Status (``ExternalRefusedError``)
    after it acted     Lose, Truncate
    the process dies   Crash, with ``crash=cluster.crash``; the call never returns

``ever`` keeps each resource that was created, so a test can prove that there was never a second.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import ExternalRefusedError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.testing.faults.transport import (
    Crash,
    Delay,
    Fault,
    Faults,
    Hang,
    Lose,
    Refuse,
    Status,
    Truncate,
)


@dataclass(slots=True)
class StandInResource:
    """A resource of the stand-in."""

    id: str
    token: str
    body: Json
    visible_at: float
    deleted: bool = False


@dataclass(slots=True)
class ExternalStandIn:
    """An inventory of resources.

    - ``faults``: which calls fail; none by default.
    - ``honours_tokens``: a second create with the same token returns the id of the first; with
      False it makes another resource, which only ``find`` can prevent.  Default: True.
    - ``visible_after``: how long a new resource is hidden from ``get`` and ``find``.  Default: 0.
    - ``crash``: called for the fault ``Crash``, such as ``cluster.crash``.
    """

    faults: Faults = lambda _request: None
    honours_tokens: bool = True
    visible_after: timedelta = timedelta(0)
    crash: Callable[[], None] = lambda: None
    ever: list[StandInResource] = field(default_factory=list)
    """Every resource that was created, the deleted ones included."""
    calls: list[str] = field(default_factory=list)
    """Every call: ``POST /<token>``, ``GET /<id>`` and so on."""
    clock: Clock = field(default_factory=LoopClock)

    @property
    def resources(self) -> dict[str, Json]:
        """The resources that exist, visible or not, by id."""
        return {one.id: one.body for one in self.ever if not one.deleted}

    async def create(self, body: Json, token: str) -> str:
        """Create a resource; return its id."""

        def act() -> str:
            for one in self.ever:
                if self.honours_tokens and one.token == token:
                    return one.id
            visible_at = self.clock.monotonic() + self.visible_after.total_seconds()
            made = StandInResource(f"ext-{len(self.ever) + 1}", token, dict(body), visible_at)
            self.ever.append(made)
            return made.id

        made: str = await self._call("POST", token, act)
        return made

    async def get(self, known: str) -> Json | None:
        """Return the body of a resource; None if it does not exist or is not visible yet."""

        def act() -> Json | None:
            one = self._find(known)
            return None if one is None or not self._is_visible(one) else dict(one.body)

        found: Json | None = await self._call("GET", known, act)
        return found

    async def find(self, token: str) -> str | None:
        """Return the id of the resource that was created with the token; None as for ``get``."""

        def act() -> str | None:
            named = (one for one in self.ever if one.token == token and not one.deleted)
            return next((one.id for one in named if self._is_visible(one)), None)

        found: str | None = await self._call("GET", token, act)
        return found

    async def update(self, known: str, body: Json) -> None:
        """Replace the body of a resource."""

        def act() -> None:
            one = self._find(known)
            if one is None:
                raise ExternalRefusedError("NotFound", f"{known} does not exist", retry=True)
            one.body = dict(body)

        await self._call("PATCH", known, act)

    async def delete(self, known: str) -> None:
        """Delete a resource; do nothing if it does not exist or is not visible yet."""

        def act() -> None:
            one = self._find(known)
            if one is not None and self._is_visible(one):
                one.deleted = True

        await self._call("DELETE", known, act)

    def _find(self, known: str) -> StandInResource | None:
        return next((one for one in self.ever if one.id == known and not one.deleted), None)

    def _is_visible(self, one: StandInResource) -> bool:
        return self.clock.monotonic() >= one.visible_at

    async def _call(self, method: str, name: str, act: Callable[[], Any]) -> Any:
        self.calls.append(f"{method} /{name}")
        fault: Fault | None = self.faults(HttpRequest(method, f"/{name}"))
        match fault:
            case Refuse():
                raise ConnectionRefusedError(f"injected before {method} /{name}")
            case Status(code, reason):
                retry = code == 429 or code >= 500
                raise ExternalRefusedError(reason or "Refused", "injected", retry=retry)
            case Hang():
                await asyncio.Event().wait()
            case Delay(seconds):
                await self.clock.sleep(seconds)
            case Crash(acted=False):
                self.crash()
                await asyncio.Event().wait()
            case _:
                pass
        answer = act()
        if isinstance(fault, Crash):
            self.crash()
            await asyncio.Event().wait()
        if isinstance(fault, Lose | Truncate):
            raise ConnectionResetError(f"injected after {method} /{name}")
        return answer

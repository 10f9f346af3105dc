"""Several replicas that share the objects of one server, in virtual time."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import patch
from uuid import UUID

from myrmidon.api.objects.conditions import READY, status_of
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.errors import MyrmidonError
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.shards.member import ShardMember
from myrmidon.runtime.shards.slices import SLICES
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, FaultyTransport, Harness, Refuse, is_write
from tests.runtime.things import Thing, Things, config_map, thing

TERMS = ManagerOptions().terms  # 15, 10 and 2 seconds
PROGRAM = "myrmidon-thing.test.myrmidon.dev"
_THINGS = "/apis/test.myrmidon.dev/v1/things"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


@dataclass
class Replica:
    """One process.  ``writes`` are the times of its writes, by the name of the object."""

    name: str
    cluster: Harness
    controller: Things
    options: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    dead: bool = False
    writes: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        inner = LocalTransport(self.cluster.server)
        self.line = FaultyTransport(inner, self.fault, clock=self.cluster.clock)
        seed = sum(map(ord, self.name))
        given = {"shards": "auto", "identity": self.name, "seed": seed, **self.options}
        options = ManagerOptions(**given)
        self.manager = Manager(options, transport=self.line, clock=self.cluster.clock)
        self.manager.add(self.controller)
        self.task = self.cluster.loop.create_task(self.manager.run())

    def fault(self, request: HttpRequest) -> Fault | None:
        """Refuse all requests while it is cut off; record its writes."""
        if self.cut:
            return Refuse()
        if is_write(request) and "/leases" not in request.path and "/events" not in request.path:
            name = _named(request)
            self.writes.append((self.cluster.loop.time(), name))
        return None

    def die(self) -> None:
        """Lose the connection for good, as a process that was killed does."""
        self.dead = True
        self.line.die()

    @property
    def member(self) -> ShardMember:
        """The member of the process."""
        member = self.manager._clients.member
        assert member is not None
        return member

    @property
    def slices(self) -> frozenset[int]:
        """The slices on which it works; none before it has connected."""
        member = self.manager._clients.member
        return frozenset() if member is None else member.slices

    def kept(self) -> tuple[set[str], set[str]]:
        """Return the names of the cached objects, and those of the cached children."""
        caches = self.manager._caches
        assert caches is not None
        by_kind: dict[str, set[str]] = {}
        for shared in caches._shared.values():
            names = by_kind.setdefault(shared.cache.kind.kind, set())
            names |= {name for _, name in shared.cache.keys()}  # noqa: SIM118 - not a dictionary
        return by_kind["Thing"], by_kind["ConfigMap"]

    @property
    def may_write(self) -> frozenset[int]:
        """The slices for which the fence of the process is open now."""
        if self.task.done():
            return frozenset()
        member = self.manager._clients.member
        opened = frozenset[int]() if member is None else member._open
        if member is None or not opened:
            return frozenset()
        try:
            member.permit(next(iter(opened)))
        except MyrmidonError:
            return frozenset()
        return opened


def _named(request: HttpRequest) -> str:
    """Return the name of the object that a request writes; a child has the name of its parent."""
    parts = request.path.split("/")
    at = max(parts.index(kind) for kind in ("things", "configmaps") if kind in parts)
    if len(parts) > at + 1:
        return parts[at + 1]
    return str(json.loads(request.body or b"{}")["metadata"]["name"])


class Fleet:
    """Replicas on one server."""

    def __init__(self, cluster: Harness) -> None:
        self.cluster = cluster
        self.replicas: list[Replica] = []

    def start(self, name: str, controller: Things | None = None, **options: Any) -> Replica:
        """Start another replica."""
        replica = Replica(name, self.cluster, controller or Things(child), options)
        self.replicas.append(replica)
        return replica

    def advance(self, seconds: float, step: float = 0.25) -> None:
        """Let time pass; no slice may be open in two replicas at any moment (law S1)."""
        until = self.cluster.loop.time() + seconds
        while self.cluster.loop.time() < until - 1e-9:
            self.cluster.advance(timedelta(seconds=step))
            self.check_one_writer()

    def check_one_writer(self) -> None:
        """No slice is open in two replicas."""
        seen: dict[int, str] = {}
        for replica in self.replicas:
            for number in replica.may_write:
                assert number not in seen, f"slice {number}: {seen[number]} and {replica.name}"
                seen[number] = replica.name

    @property
    def served(self) -> int:
        """How many slices have a living owner that works on them."""
        living = (each for each in self.replicas if not each.dead and not each.task.done())
        return sum(len(each.may_write & each.slices) for each in living)

    def until_served(self, seconds: float) -> float:
        """Let time pass until every slice has an owner; return how long it took."""
        began_at = self.cluster.loop.time()
        while self.served < SLICES:
            assert self.cluster.loop.time() - began_at < seconds, f"{self.served} slices are served"
            self.advance(0.25)
        return self.cluster.loop.time() - began_at

    def apply(self, name: str, namespace: str = "default") -> None:
        """Create an object."""
        path = f"/apis/test.myrmidon.dev/v1/namespaces/{namespace}/things"
        body = thing(name).to_json()
        body["metadata"]["namespace"] = namespace
        assert self.cluster.server.request("POST", path, body).status == 201

    def uid(self, name: str) -> str:
        """Return the uid of an object."""
        found = {one["metadata"]["name"]: one["metadata"]["uid"] for one in self._items(_THINGS)}
        return str(found[name])

    def members(self) -> dict[str, dict[str, Any]]:
        """Return the Leases of the program, by name."""
        return {item["metadata"]["name"]: item for item in self._items(_LEASES)}

    def shard_map(self) -> dict[str, Any]:
        """Return the Lease that records the owners."""
        return self.members()[f"{PROGRAM}-shards"]

    def write_lease(self, method: str, name: str, lease: dict[str, Any] | None = None) -> None:
        """Write a Lease as a person would."""
        assert self.cluster.server.request(method, f"{_LEASES}/{name}", lease).status == 200

    def check_ready(self, names: set[str]) -> None:
        """These are all objects, and all are Ready."""
        items = {one["metadata"]["name"]: one for one in self._items(_THINGS)}
        assert items.keys() == names
        waiting = {
            name: one.get("status", {}).get("conditions")
            for name, one in items.items()
            if status_of(one, READY) != "True"
        }
        assert not waiting, waiting

    def _items(self, path: str) -> list[dict[str, Any]]:
        body = self.cluster.server.request("GET", path).body
        items: list[dict[str, Any]] = json.loads(body)["items"]
        return items

    def writers(self) -> dict[str, list[str]]:
        """Return the replicas that wrote for each object, in order; each change of writer counts."""
        found: dict[str, list[str]] = {}
        writes = sorted((at, name, one.name) for one in self.replicas for at, name in one.writes)
        for _, name, replica in writes:
            them = found.setdefault(name, [])
            if not them or them[-1] != replica:
                them.append(replica)
        return found


def _uid(environment: CountingEnvironment) -> str:
    """Return a uid as random as a real server's: those that count up are all in one slice."""
    environment.uids_drawn += 1
    return str(UUID(int=Random(environment.uids_drawn).getrandbits(128), version=4))


@contextmanager
def fleet(*names: str, controller: Things | None = None, **options: Any) -> Iterator[Fleet]:
    """Start replicas on a new server, wait until every slice has an owner, and stop them at the end."""
    with patch.object(CountingEnvironment, "uid", _uid), Harness() as cluster:
        assert not cluster.server.create(crd(Thing))
        found = Fleet(cluster)
        try:
            for name in names:
                found.start(name, controller, **options)
            if names:
                found.advance(TERMS.lease_seconds + 4)
                found.until_served(1)
            yield found
        finally:
            tasks = [one.task for one in found.replicas]
            for task in tasks:
                task.cancel()
            if tasks:
                cluster.loop.run_until_complete(asyncio.wait(tasks))
            for task in tasks:
                if not task.cancelled():
                    task.exception()

"""The kit of the museum: the kind Thing, the base class of its controllers, and what an exhibit is.

The controllers are plain programs in the style of client-go: informers, a queue and a function.  They
have the freedom to make the mistakes that myrmidon prevents.  Buggy and fixed controllers of an exhibit
share everything except the mistake.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from pydantic import Field

from myrmidon import Model, Resource, Status, kinds
from myrmidon.api import Json
from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import is_deleting
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.transport import Transport
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors import housekeepers
from myrmidon.apiserver.actors.actor import Actor, ServerAccess
from myrmidon.apiserver.actors.pods import Kubelet, Volumes
from myrmidon.errors import AlreadyExistsError, MyrmidonError, NotFoundError
from myrmidon.io.client import Client
from myrmidon.testing.simulation.scenarios import Scenario
from tests.testing.simulation.naive import Naive

CLEANUP = "museum.myrmidon.dev/cleanup"
OWNER = "museum.myrmidon.dev/owner"
POD, SECRET, CONFIG_MAP = kinds.POD, kinds.SECRET, kinds.CONFIG_MAP
STATEFUL_SET, PVC, LEASE = kinds.STATEFUL_SET, kinds.PERSISTENT_VOLUME_CLAIM, kinds.LEASE
POD_SPEC: Json = {"containers": [{"name": "main", "image": "main:1"}]}


class ThingSpec(Model):
    """What the user asks for; each exhibit uses one field."""

    size: int = Field(default=10, ge=0)
    replicas: int = Field(default=1, ge=0)
    tls: bool = False
    cfg: str = "x"


class ThingStatus(Status):
    """What the controllers remember."""

    phase: str | None = None
    ordinal: int | None = None
    ext_id: str | None = None
    out_of_sync: bool | None = None
    cidr: str | None = None


class Thing(Resource[ThingSpec, ThingStatus], group="museum.myrmidon.dev", version="v1"):
    """The custom resource of all exhibits."""


def thing(name: str = "a", **spec: Any) -> Thing:
    """Build a Thing."""
    return Thing(name=name, spec=ThingSpec(**spec))


class AgainError(MyrmidonError):
    """The pass cannot go on; it is tried again after five seconds."""


class Reconciler(Naive):
    """The base class of the controllers: reads from caches, writes to the server."""

    resources = (Thing,)
    first_list = ""

    # ------------------------------------------------------------------------------ reading

    async def live(self, kind: Kind, name: str, namespace: str = "default") -> Json | None:
        """Return an object as it is on the server."""
        try:
            return await self.client.get(ObjectRef(kind, name, namespace))
        except NotFoundError:
            return None

    async def require_current(self, obj: Json) -> None:
        """Raise unless the object is the newest version: for decisions that cannot be undone."""
        found = await self.live(self.resources[0].KIND, obj["metadata"]["name"])
        if (
            found is None
            or found["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]
        ):
            raise AgainError("the cache is behind")

    # ------------------------------------------------------------------------------ writing

    async def ensure(self, kind: Kind, obj: Json) -> Json:
        """Return the cached object; create it if the cache does not have it.

        An object of an old owner is waited for: it will be gone soon.
        """
        there = self.cached(kind, obj["metadata"]["name"])
        if there is None:
            try:
                return await self.create(kind, obj)
            except AlreadyExistsError:
                there = await self.live(kind, obj["metadata"]["name"], obj["metadata"]["namespace"])
        if there is None or _owners(there) != _owners(obj):
            raise AgainError("an object of an old owner is in the way")
        return there

    async def delete(
        self, kind: Kind, name: str, *, namespace: str = "default", **given: str
    ) -> None:
        """Delete an object, with the preconditions that are given."""
        try:
            await self.client.delete(ObjectRef(kind, name, namespace), **given)  # type: ignore[arg-type]
        except NotFoundError:
            return

    async def set_status(self, obj: Json, **fields: Any) -> None:
        """Replace fields of the status; a version that is not the newest is refused."""
        before = obj.get("status") or {}
        after = {key: value for key, value in {**before, **fields}.items() if value is not None}
        if after != before:
            await self.write_status(obj, after)

    async def set_finalizers(self, obj: Json, *wanted: str) -> None:
        """Replace the finalizers; a version that is not the newest is refused."""
        await self.client.update(
            Thing.KIND, {**obj, "metadata": {**obj["metadata"], "finalizers": list(wanted)}}
        )


def _owners(obj: Json) -> list[str]:
    return [str(one["uid"]) for one in obj["metadata"].get("ownerReferences", ())]


def has_finalizer(obj: Json) -> bool:
    """Whether the finalizer of the museum is set."""
    return CLEANUP in obj["metadata"].get("finalizers", ())


def uid_of(obj: Json) -> str:
    """Return the uid."""
    return str(obj["metadata"]["uid"])


def stateful_set(replicas: int, **template: str) -> Json:
    """Return the content of a StatefulSet whose template has annotations."""
    meta = {"labels": {"app": "a"}, "annotations": template}
    return {
        "spec": {
            "replicas": replicas, "serviceName": "a", "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": meta, "spec": POD_SPEC},
        }
    }  # fmt: skip


def claim(size: int = 10) -> Json:
    """Return the content of a PersistentVolumeClaim."""
    return {
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{size}Gi"}}
        }
    }  # fmt: skip


def size_of(volume: Json) -> int:
    """Return the size of a PersistentVolumeClaim in Gi."""
    return int(volume["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))


# ------------------------------------------------------------------------------- leaders

LEASE_SECONDS, RENEW_SECONDS = 15.0, 4.0


class Elected(Reconciler):
    """A controller with leader election; it works while it believes that it leads."""

    def __init__(self, identity: str) -> None:
        super().__init__()
        self.identity = identity
        self.leads_until = 0.0

    async def run(self, transport: Transport, clock: Clock) -> None:
        """Wait for the lease, then work until it is lost."""
        client = Client(transport, clock=clock)
        while not await self._renewed(client, clock):
            await clock.sleep(RENEW_SECONDS)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(super().run(transport, clock))
            while clock.monotonic() < self.leads_until:
                await clock.sleep(RENEW_SECONDS)
                await self._renewed(client, clock)
            work.cancel()
        raise AgainError("the lease is lost")

    async def resync(self) -> None:
        """Reconcile every object, if it leads."""
        if self.caches:
            await super().resync()

    async def _renewed(self, client: Client, clock: Clock) -> bool:
        began, where = clock.monotonic(), ObjectRef(LEASE, "museum", "default")
        try:
            try:
                lease = self._lease or await client.get(where)
            except NotFoundError:
                lease = {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": "museum", "namespace": "default"},
                }
                lease = await client.create(LEASE, {**lease, "spec": self._claim(clock.now())})
            spec = lease.get("spec") or {}
            if spec.get("holderIdentity") != self.identity and not self._expired(lease, began):
                return False
            self._lease = await client.update(LEASE, {**lease, "spec": self._claim(clock.now())})
        except MyrmidonError:
            self._lease = None
            return False
        self.leads_until = began + LEASE_SECONDS - 5.0
        return True

    _lease: Json | None = None
    """The Lease as it was last written by this process."""
    _seen: tuple[str, float] = ("", 0.0)

    def _expired(self, lease: Json, now: float) -> bool:
        """Whether the lease has not changed for its duration, by our own clock."""
        version = lease["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, now)
        return now - self._seen[1] > LEASE_SECONDS

    def _claim(self, now: datetime) -> Json:
        stamp = write_time(now).replace("Z", ".000000Z")
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(LEASE_SECONDS),
            "renewTime": stamp,
        }


# -------------------------------------------------------------------------------- actors


def without_pods() -> list[Actor]:
    """Return the actors of a cluster in which StatefulSets are only stored, for quicker runs."""
    return [*housekeepers(), Volumes()]


class SlowKubelet(Kubelet):
    """A kubelet whose pods take two seconds to end."""

    GRACE: ClassVar = timedelta(seconds=2)

    def _remove_or_schedule(self, server: ServerAccess, key: str, pod: Json, now: datetime) -> None:
        if is_deleting(pod):
            self._due[key] = now + self.GRACE
        else:
            super()._remove_or_schedule(server, key, pod, now)

    def _progress(self, server: ServerAccess, pod: Json, now: datetime) -> None:
        if is_deleting(pod):
            super()._remove_or_schedule(server, "", pod, now)
        else:
            super()._progress(server, pod, now)


# ------------------------------------------------------------------------------- exhibits

Make = Callable[..., Any]
Play = Callable[[Make], Callable[[Any], Any]]


@dataclass(frozen=True)
class Exhibit:
    """A known bug: the public report, both controllers, the scenario, and what must be found."""

    name: str
    source: str
    buggy: Make
    fixed: Make
    play: Play
    """Returns the scenario of a controller."""
    oracles: frozenset[str]
    """The oracles that name this bug; one of them must be among those of the first failure."""
    max_runs: int = 2000
    actors: Callable[[], list[Actor]] | None = None

    def scenario(self, make: Make) -> Scenario:
        """Return the scenario with the buggy or the fixed controller."""
        return Scenario(self.play(make), actors=self.actors)


def creation(make: Make, **spec: Any) -> Any:
    """Return the scenario that creates a Thing."""

    async def created(sim: Any) -> None:
        sim.controller(make)
        await sim.user.create(thing(**spec))
        await sim.settle()

    return created


def editing(*specs: dict[str, Any]) -> Play:
    """Return the scenario that creates a Thing and edits it, with time in between."""

    def play(make: Make) -> Any:
        async def edited(sim: Any) -> None:
            sim.controller(make)
            made = await sim.user.create(thing(**specs[0]))
            await sim.settle()
            for spec in specs[1:]:
                await sim.user.patch(made, **spec)
                await sim.settle()

        return edited

    return play

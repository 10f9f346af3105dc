"""ScenarioUser: the person or the program whose objects the scenario's controllers reconcile.

The steps of the user never fail because of injected faults of the network.  They may fail because a
fault of the plan was faster (the object was deleted already); the scenario then goes on.

Edits that a plan leaves out are not lost: they are sent together with the next edit of the object, as
if the user had typed faster than the controller looked.  So are creates, with ``HELD_CREATE``.
"""

import asyncio
from contextlib import nullcontext, suppress
from typing import Any

from myrmidon.api.objects.accessors import Json, is_deleting, namespace_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.api.typed.resource import Resource
from myrmidon.errors import AlreadyExistsError, ApiError, NotFoundError, UsageError
from myrmidon.io.client import Client
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.testing.simulation.actions import thawed
from myrmidon.testing.simulation.edits import combined, patched
from myrmidon.testing.simulation.embedded import USER
from myrmidon.testing.simulation.stage import Stage

PACED = -2
"""In place of the number of an edit: the user waits before each step until controllers are at rest."""
SLOW = -3
"""In place of the number of an edit: a long time passes before each step of the user."""
HELD_CREATE = -1
"""In place of the number of an edit: objects are created together with their first edit."""
_SLOW_SECONDS = 1000.0
_GONE_SECONDS = 300.0  # how long the user waits for a deletion before creating the object again


class Entrance:
    """The connection of the user and of other clients: without faults."""

    def __init__(self, run: Stage, name: str) -> None:
        self._run, self._name = run, name

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Send a request."""
        del deadline
        return await self._run.carry(request, (self._name, -1, 0))

    def stream(self, request: HttpRequest) -> Any:
        """Refuse: a user of a simulation does not watch."""
        raise NotImplementedError(request.path)

    async def close(self) -> None:
        """Do nothing."""


class ScenarioUser:
    """The steps of the scenario."""

    def __init__(self, run: Stage) -> None:
        self._run = run
        self._client = Client(Entrance(run, USER), clock=run.clock)
        self._lock = asyncio.Lock()
        self.edits = 0
        self.edited_at: int | None = None
        """The number of commits before the scenario's first edit."""
        self.taken = 0
        """How many steps the scenario has made."""
        self.interfered: list[tuple[int, str, str, Json]] = []
        """The steps of a plan's faults: after how many steps of the scenario, and what they did."""
        self.made: dict[str, Json] = {}
        """The manifest of each object that the user wants now, by ``Kind/name``."""
        self.ever: dict[str, Json] = {}
        """The same for each object that the user has ever created."""
        self.steps: list[tuple[str, str, Json]] = []
        """Every step: what, which object, and the body."""
        self.hasty = False
        """Whether a step was made before the controllers had settled after the step before."""
        self._rests_before = -1
        self._held_back: dict[str, Json] = {}
        self._unborn: dict[str, Json] = {}

    async def create(self, obj: Any) -> Any:
        """Create an object: a Resource, a manifest or a model; return it as the server stored it."""
        await self._run.begin()
        await self._before_step()
        manifest = manifest_of(obj)
        ref = self._place(manifest)
        if HELD_CREATE in self._run.plan.skipped_edits:
            self._unborn[_key(ref)] = manifest
            return obj
        return await self._born(ref, manifest, obj)

    async def _born(self, ref: ObjectRef, manifest: Json, obj: Any) -> Any:
        async with self._lock:
            self.taken += 1
            self.made[_key(ref)] = self.ever[_key(ref)] = manifest
            self._note("create", ref, manifest)
            with self._tolerating():
                obj = _like(obj, await self._create(Request(Verb.CREATE, ref, manifest)))
        return obj

    async def apply(self, obj: Any) -> Any:
        """Create an object, or merge it into the existing one."""
        await self._run.begin()
        manifest = manifest_of(obj)
        ref = self._place(manifest)
        if await self._read(ref) is None:
            return await self.create(obj)
        return await self.patch(manifest, manifest)

    async def patch(self, obj: Any, changes: Json | None = None, /, **spec: Any) -> Any:
        """Change an object: fields of its spec by keyword, or a merge patch of the whole object."""
        await self._run.begin()
        ref = self._ref(obj)
        body = dict(changes or {})
        if spec:
            body = combined(body, {"spec": _wire(obj, spec)})
        number, self.edits = self.edits, self.edits + 1
        key = _key(ref)
        body = combined(self._held_back.pop(key, {}), body)
        if number in self._run.plan.skipped_edits:
            self._held_back[key] = body
            return obj
        await self._before_step()
        if self.edited_at is None:
            self.edited_at = len(self._run.trace.commits)
        if key in self._unborn:
            return await self._born(ref, patched(self._unborn.pop(key), body), obj)
        async with self._lock:
            self.taken += 1
            return await self._patch(ref, body, obj)

    async def delete(self, obj: Any) -> None:
        """Delete an object."""
        await self._run.begin()
        ref = self._ref(obj)
        self._held_back.pop(_key(ref), None)
        await self._before_step()
        if _key(ref) in self._unborn:
            await self._born(ref, self._unborn.pop(_key(ref)), obj)
        async with self._lock:
            self.taken += 1
            self._note("delete", ref, {})
            self.made.pop(_key(ref), None)
            with self._tolerating(), suppress(NotFoundError):  # another client may be quicker
                await self._client.delete(ref, propagation="Background")

    async def finish(self) -> None:
        """Make the edits that were held back and had no later edit of their object."""
        unborn, self._unborn = self._unborn, {}
        for manifest in unborn.values():
            await self._born(self._place(manifest), manifest, manifest)
        held, self._held_back = self._held_back, {}
        for key, body in held.items():
            ref = self._find(key)
            if ref is not None:
                async with self._lock:
                    await self._patch(ref, body, None)

    async def get(self, kind: Any, name: str, namespace: str | None = None) -> Json | None:
        """Return an object as it is on the server; None if it does not exist."""
        await self._run.begin()
        return self._run.world.get(kind, name, namespace)

    # ----------------------------------------------------------------- steps of a plan's faults

    def wants(self, target: str) -> bool:
        """Whether an object of the scenario exists that the user has not deleted."""
        return target in self.made if target else bool(self.made)

    async def _before_step(self) -> None:
        """Let the faults of the trigger ``step`` happen, when the controllers are at rest."""
        rests = len(self._run.settled)
        self.hasty = self.hasty or rests == self._rests_before
        self._rests_before = rests
        if PACED in self._run.plan.skipped_edits:
            await self._run.settle(_GONE_SECONDS)
        if SLOW in self._run.plan.skipped_edits:
            await self._run.advance(_SLOW_SECONDS)
        for index, fault in self._run.director.at("step"):
            if fault.trigger.number == self.taken and not self._run.director.fired[index]:
                await self._run.settle(_GONE_SECONDS)
                self._run.director.mark(index)
                action = fault.action
                await self.injected(action.how, action.target, thawed(action.body) or {})

    async def injected(self, how: str, target: str, body: Json) -> None:
        """Delete, recreate or edit an object of the scenario, before the user's next step."""
        async with self._lock:
            self.interfered.append((self.taken, how, target, body))
            ref = self._find(target)
            if ref is None:
                return
            with suppress(ApiError):
                if how == "edit":
                    await self._patch(ref, body, None)
                    return
                self._note("delete", ref, {})
                manifest = self.made.pop(_key(ref))
                await self._client.delete(ref, propagation="Background")
                if how == "recreate" and await self._gone(ref):
                    self.made[_key(ref)] = manifest
                    self._note("create", ref, manifest)
                    await self._client.send(Request(Verb.CREATE, ref, manifest))

    @property
    def locked(self) -> asyncio.Lock:
        """Held during each step of the user, so that no two are made at the same time."""
        return self._lock

    async def restore(self, kind: str) -> None:
        """Create the objects of a kind again that the user wants; the caller holds the lock."""
        for key, manifest in list(self.made.items()):
            if key.partition("/")[0] == kind:
                self.interfered.append((self.taken, "recreate", key, {}))
                ref = self._place(manifest)
                self._note("create", ref, manifest)
                with suppress(ApiError):
                    await self._client.send(Request(Verb.CREATE, ref, manifest))

    async def _create(self, request: Request) -> Json:
        """Create an object; one of the same name that is being deleted is waited for."""
        try:
            return await self._client.send(request)
        except AlreadyExistsError:
            there = await self._read(request.ref)
            if there is not None and not is_deleting(there):
                raise
        await self._gone(request.ref)
        return await self._client.send(request)

    async def _gone(self, ref: ObjectRef) -> bool:
        ends_at = self._run.loop.time() + _GONE_SECONDS
        while await self._read(ref) is not None:
            if self._run.loop.time() >= ends_at:
                return False
            await self._run.clock.sleep(1.0)
        return True

    def _find(self, target: str) -> ObjectRef | None:
        if not self.made:
            return None
        key = target or next(reversed(self.made))
        manifest = self.made.get(key)
        return None if manifest is None else self._place(manifest)

    # ----------------------------------------------------------------------------- inside

    async def _patch(self, ref: ObjectRef, body: Json, obj: Any) -> Any:
        self._note("patch", ref, body)
        key = _key(ref)
        with self._tolerating():
            stored = await self._client.send(Request(Verb.PATCH, ref, body, "", Patch.MERGE))
            if key in self.made:
                self.made[key] = patched(self.made[key], body)
            return _like(obj, stored)
        return obj  # type: ignore[unreachable]  # after an error that is tolerated

    def _tolerating(self) -> Any:
        return suppress(ApiError) if self._run.is_meddled else nullcontext()

    async def _read(self, ref: ObjectRef) -> Json | None:
        try:
            return await self._client.get(ref)
        except NotFoundError:
            return None

    def _place(self, manifest: Json) -> ObjectRef:
        """Return the reference of a manifest, in the namespace of the scenario by default."""
        found = self._run.server.core.registry.find_kind(
            *_group_version(str(manifest.get("apiVersion", ""))), str(manifest.get("kind", ""))
        )
        if found is None:
            raise UsageError(
                f"the simulated server does not serve {manifest.get('apiVersion')} {manifest.get('kind')}.\n"
                "  fix: pass its controller to sim.controller(...), or its class to sim.install(...)"
            )
        kind: Kind = found.kind
        where = (namespace_of(manifest) or self._run.namespace) if kind.namespaced else ""
        if where:
            manifest.setdefault("metadata", {})["namespace"] = where
        return ObjectRef(kind, manifest["metadata"]["name"], where)

    def _ref(self, obj: Any) -> ObjectRef:
        if isinstance(obj, Resource):
            kind = type(obj).KIND
            found = self._run.server.core.registry.find(kind.group, kind.version, kind.plural)
            if found is not None:
                where = (obj.namespace or self._run.namespace) if kind.namespaced else ""
                return ObjectRef(found.kind, obj.name, where)
        return self._place(manifest_of(obj))

    def _note(self, what: str, ref: ObjectRef, body: Json) -> None:
        self.steps.append((what, _key(ref), body))
        self._run.note(USER, what, _key(ref))


def _key(ref: ObjectRef) -> str:
    return f"{ref.kind.kind}/{ref.name}"


def _group_version(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def _like(obj: Any, stored: Json) -> Any:
    """Return the stored object in the form in which the user gave it."""
    read = getattr(type(obj), "from_json", None)
    return stored if read is None else read(stored)


def _wire(obj: Any, spec: Json) -> Json:
    """Return the fields of a spec under their names on the wire."""
    model: Any = type(getattr(obj, "spec", None))
    fields: Any = getattr(model, "model_fields", {})
    made: Json = {}
    for name, value in spec.items():
        found = fields.get(name)
        alias = getattr(found, "serialization_alias", None) or getattr(found, "alias", None)
        made[alias or name] = value
    return made

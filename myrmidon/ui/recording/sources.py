"""What a page shows: a running manager (``ManagerSource``), or an exported recording.

Both answer with the JSON of ``stories``, so a page does not know which of the two it shows.  A source
that reads a manager takes everything from its recorder and its caches.  Only the page of one object
sends a request: managedFields, which caches do not keep, are read from the server.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, NamedTuple, Protocol

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, is_deleting, labels_of, metadata
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.children.readiness import is_ready
from myrmidon.fsm.status.status_home import statuses_of
from myrmidon.io.client import Client
from myrmidon.io.timers.pacing import pacer
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.observability.recorder import Recorder, StreamEntry
from myrmidon.ui.pages.history_view import Past, Then, rows_at
from myrmidon.ui.pages.markup import Markup
from myrmidon.ui.recording.stories import machine_of, pass_of, row_id, row_of

_CHILDREN_MAX, _LEVELS_MAX = 200, 3


class PageObject(NamedTuple):
    """The name of an object on the page."""

    controller: str
    namespace: str
    name: str


class PageSource(Protocol):
    """What a page shows."""

    title: str
    is_live: bool
    front: Markup | None
    """The first page, if it is not the overview."""

    @property
    def version(self) -> int: ...  # noqa: D102 - another one means other machines
    @property
    def recorder(self) -> Recorder | None: ...  # noqa: D102 - the passes that the stream sends
    def machines(self) -> list[Json]: ...  # noqa: D102
    def rows(self) -> AsyncIterator[Json]: ...  # noqa: D102
    def row(self, _entry: StreamEntry) -> Json | None: ...  # noqa: D102
    def vitals(self) -> Json: ...  # noqa: D102
    async def story(self, of: PageObject, *, asks: bool = True) -> Json | None: ...  # noqa: D102
    @property
    def past(self) -> Past: ...  # noqa: D102 - which passes can be shown
    def rows_at(self, rows: dict[str, Json], number: int) -> Then: ...  # noqa: D102


class ManagerSource:
    """Shows a running manager; ``manager`` returns the one that runs now, None if none does."""

    is_live = True
    front: Markup | None = None

    def __init__(
        self,
        manager: Callable[[], Manager | None],
        title: str,
        clock: Clock,
        client: Client | None = None,
    ) -> None:
        """``client`` reads managedFields and acts; by default that of the manager."""
        self._manager, self.title, self._clock, self._client = manager, title, clock, client

    @property
    def client(self) -> Client | None:
        """What reads managedFields and acts: the given client, or that of the manager."""
        manager = self._manager()
        return self._client or (manager.client if manager is not None else None)

    @property
    def version(self) -> int:
        """The identity of the manager: `myrmidon dev` starts another one when the code changes."""
        return id(self._manager())

    @property
    def recorder(self) -> Recorder | None:
        """The recorder of the manager; None if it records nothing."""
        manager = self._manager()
        return manager.recorder if manager is not None else None

    def machines(self) -> list[Json]:
        """Return the declaration of each controller."""
        return [machine_of(loop.controller) for loop in self._loops()]

    async def rows(self) -> AsyncIterator[Json]:
        """Yield a row for each object; gives way to the event loop between them."""
        pace = pacer()
        for loop in self._loops():
            tracer, traced = loop.tracer, loop.traced
            assert tracer is not None, "a manager whose passes are recorded"
            for ref in loop.view.own_keys():
                await pace.give_way()
                obj = loop.view.look(ref)
                if obj is not None:
                    yield row_of(tracer.view_of(traced, ref, obj), labels_of(obj))
            for ref in tracer.gone():
                if loop.view.look(ref) is None:
                    yield row_of(tracer.view_of(traced, ref, None), {})

    def row(self, _entry: StreamEntry) -> Json | None:
        """Return the row of the object that had a pass."""
        record = _entry[2]
        loop = self._loop(record.controller)
        if loop is None or loop.tracer is None:
            return None
        obj = loop.view.look(record.ref)
        return row_of(loop.tracer.view_of(loop.traced, record.ref, obj), labels_of(obj or {}))

    @property
    def past(self) -> Past:
        """Which passes can be shown."""
        recorder = self.recorder
        return Past() if recorder is None else Past(recorder.first, recorder.number)

    def rows_at(self, rows: dict[str, Json], number: int) -> Then:
        """Return all objects as they were at an earlier pass; ``rows`` are those of now."""
        recorder = self.recorder
        return Then([]) if recorder is None else rows_at(recorder, rows, number)

    def vitals(self) -> Json:
        """Return how the process is."""
        manager = self._manager()
        if manager is None:
            return {"working": False, "controllers": {}, "problems": {}, "caches": []}
        vitals = manager.vitals()
        return {
            "now": self._clock.now().isoformat(),
            "working": vitals.is_working,
            "leads": vitals.leads,
            "identity": vitals.identity,
            "leader": vitals.leader,
            "lagSeconds": round(vitals.lag_seconds, 4),
            "problems": dict(vitals.problems),
            "caches": [
                {
                    "kind": health.scope.kind.kind,
                    "objects": health.objects,
                    "synced": health.is_synced,
                    "staleSeconds": round(health.staleness_seconds, 1),
                }
                for health in vitals.caches
            ],
            "controllers": {
                one.controller: {
                    "queued": one.queued,
                    "inWork": one.in_work,
                    "workers": one.workers,
                    "passes": one.passes,
                    "writes": one.writes,
                    "errors": one.errors,
                }
                for one in vitals.controllers
            },
        }

    async def story(self, of: PageObject, *, asks: bool = True) -> Json | None:
        """Return everything about one object; None if it is not known.

        Without ``asks`` no request is sent, so managedFields are missing.
        """
        loop, recorder = self._loop(of.controller), self.recorder
        if loop is None or loop.tracer is None or recorder is None:
            return None
        ref = self.ref(of)
        obj, history = loop.view.look(ref), recorder.find((of.controller, ref))
        if obj is None and history is None:
            return None
        view = loop.tracer.view_of(loop.traced, ref, obj)
        fields, problem = await self._live(ref) if obj is not None and asks else ({}, "")
        return {
            "row": row_of(view, labels_of(obj or {})),
            "generation": view.generation,
            "apiVersion": ref.kind.api_version,
            "spec": None if obj is None or ref.kind == kinds.SECRET else obj.get("spec"),
            "conditions": [*_conditions(obj or {})],
            "children": self._children(loop, obj or {}),
            "reads": [*_reads(loop, ref)],
            "writers": [*_writers(fields)],
            "problem": problem,
            "passes": [pass_of(one) for one in (history.records if history else ())],
        }

    def ref(self, of: PageObject) -> ObjectRef:
        """Return the reference of an object of the page."""
        loop = self._loop(of.controller)
        assert loop is not None, "asked for a controller that runs"
        return ObjectRef(loop.controller.kind(), of.name, of.namespace)

    def _children(self, loop: ControllerLoop, obj: Json, above: int = 0) -> list[Json]:
        """Return the children of an object and, if a controller of this process has them, theirs."""
        known = {(kind.api_version, kind.kind): kind for kind in loop.controller.managed_kinds}
        entries = [
            entry
            for status in statuses_of(obj).values()
            for entry in status.get("resourceRefs") or ()
        ]
        found = []
        for entry in entries[:_CHILDREN_MAX]:
            kind = known.get((str(entry.get("apiVersion")), str(entry.get("kind"))))
            child: Json = {
                name: str(entry.get(name) or "") for name in ("kind", "namespace", "name")
            }
            child["readiness"], child["id"] = _readiness(loop, kind, entry), ""
            child["children"] = []
            other = None if kind is None or entry.get("cluster") else self._loop_of(kind)
            if other is not None and kind is not None:
                ref = ObjectRef(kind, child["name"], child["namespace"])
                child["id"] = row_id(other.controller.name, ref)
                if above < _LEVELS_MAX and (own := other.view.look(ref)) is not None:
                    child["children"] = self._children(other, own, above + 1)
            found.append(child)
        if len(entries) > _CHILDREN_MAX:
            more = {"kind": f"and {len(entries) - _CHILDREN_MAX} more", "namespace": "", "name": ""}
            found.append({**more, "readiness": "unknown", "id": "", "children": []})
        return found

    async def _live(self, ref: ObjectRef) -> tuple[Json, str]:
        client = self.client
        if client is None:
            return {}, ""
        try:
            return await client.get(ref), ""
        except MyrmidonError as error:
            return {}, str(error)

    def _loops(self) -> list[ControllerLoop]:
        manager = self._manager()
        return (
            [] if manager is None else [loop for loop in manager.loops if loop.tracer is not None]
        )

    def _loop(self, name: str) -> ControllerLoop | None:
        return next((loop for loop in self._loops() if loop.controller.name == name), None)

    def _loop_of(self, kind: Kind) -> ControllerLoop | None:
        return next((loop for loop in self._loops() if loop.controller.kind() == kind), None)


def _conditions(obj: Json) -> Iterable[Json]:
    for status in statuses_of(obj).values():
        for one in status.get("conditions") or ():
            if isinstance(one, dict):
                names = ("type", "status", "reason", "message", "lastTransitionTime")
                found: Json = {name: str(one.get(name) or "") for name in names}
                generation = metadata(obj).get("generation")
                yield {**found, "old": one.get("observedGeneration", generation) != generation}


def _readiness(loop: ControllerLoop, kind: Kind | None, entry: Json) -> str:
    if kind is None or entry.get("cluster"):
        return "unknown"
    ref = ObjectRef(kind, str(entry["name"]), str(entry.get("namespace") or ""))
    found = loop.view.look(ref) if loop.view.covers(ref) else {}
    if found is None:
        return "gone"
    if is_deleting(found):
        return "deleting"
    return "ready" if is_ready(found, loop.controller.readiness_rules) else "waiting"


def _reads(loop: ControllerLoop, ref: ObjectRef) -> Iterable[Json]:
    """Yield what would wake the object: itself, its children, what its last pass has read."""
    yield {"what": f"changes of {ref.kind.kind} {ref.name} itself", "state": ""}
    managed = ", ".join(sorted(kind.kind for kind in loop.controller.managed_kinds))
    if managed:
        yield {"what": f"changes of its children: {managed}", "state": ""}
    for what, state in loop.readers.read_by(ref):
        yield {"what": what, "state": state}


def _writers(obj: Json) -> Iterable[Json]:
    """Yield who wrote fields of the object, newest first."""
    entries = [one for one in metadata(obj).get("managedFields") or () if isinstance(one, dict)]
    for one in sorted(entries, key=lambda each: str(each.get("time") or ""), reverse=True):
        yield {
            "manager": _manager(str(one.get("manager") or "")),
            "operation": str(one.get("operation") or ""),
            "part": str(one.get("subresource") or "object"),
            "time": str(one.get("time") or ""),
            "fields": [*_owned(one.get("fieldsV1") or {})][:8],
        }


def _manager(name: str) -> str:
    """Return a field manager; the server calls a client without a User-Agent ``unknown``."""
    return "a client that did not name itself" if name in ("", "unknown") else name


def _owned(fields: Any, prefix: str = "") -> Iterable[str]:
    for key, inner in fields.items():
        if not key.startswith("f:") or not isinstance(inner, dict):
            continue
        name = f"{prefix}{key[2:]}"
        below = [one for one in inner if one.startswith("f:")]
        if below and prefix.count(".") < 1:
            yield from _owned(inner, f"{name}.")
        else:
            yield name


def walked_id(entry: StreamEntry) -> str:
    """Return the address of the object that had a pass."""
    return row_id(entry[2].controller, entry[2].ref)

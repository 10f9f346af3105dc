"""Cluster: the interface of a test to controllers and an API server.

There are two implementations: ``Harness`` with an embedded server and virtual time, and
``LiveCluster`` with a real API server and real time.  A test that uses only this class runs on
both.

- As the user of the cluster: ``apply``, ``patch``, ``delete``, ``condition``, ``ready``, and the
  reads ``get``, ``require`` and ``list``.
- Let time pass: ``settle``, ``advance``, ``eventually``.
- Check that converged controllers do not write: ``at_rest``, ``writes``, ``writes_during``.
- Replace the controllers' process: ``restart``.

All calls are synchronous: the event loop with the controllers runs only inside them.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, namespace_of, ref_of
from myrmidon.api.objects.conditions import READY, Condition, find, is_ready
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.requests.transport import Transport
from myrmidon.api.typed.object_types import KindLike
from myrmidon.errors import ApiError, MyrmidonError
from myrmidon.fsm.context import Cause
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.misuse.instances import check_is_controller
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.queue.queue import WorkQueue
from myrmidon.sets.outputs.identification import check_identified
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.testing.harness.conversions import kinds_of_versions
from myrmidon.testing.harness.failures import (
    NotAtRestError,
    NotSettledError,
    OncePerFailure,
    last_refusal,
    next_pass,
    told,
    told_object,
)
from myrmidon.testing.harness.misuse import (
    check_condition,
    check_duration,
    check_function,
    check_not_async,
    check_options,
    check_status_kept,
    documents,
    explained,
    unknown_kind,
)
from myrmidon.testing.harness.readiness import is_ready_for, statuses
from myrmidon.testing.harness.reads import ClusterReads, known_kind
from myrmidon.testing.harness.recording import Exchange, RecordingTransport
from myrmidon.testing.harness.unclosed import OpenCluster, guard
from myrmidon.webhooks.admission.rules import Admission

T = TypeVar("T")
Exchanges: TypeAlias = list[Exchange]
Objects: TypeAlias = list[Json]
Loops: TypeAlias = list[ControllerLoop]

NAMESPACE = "default"
RESYNCS = 2  # passes per object in at_rest; two, to notice a pass that undoes the one before
_AT_REST = ("resync", "schedule")  # an object that only waits for these is settled
_STRICT = (("fieldValidation", "Strict"),)  # as kubectl: a misspelled field is refused, not dropped
_NOT_YET = (AssertionError, AttributeError, LookupError, TypeError)


class Cluster(ClusterReads, ABC):
    """One or more controllers against a server.  Use it in a ``with``, or call ``close``."""

    clock: Clock
    transport: RecordingTransport
    manager: Manager
    _task: "asyncio.Task[None]"

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        parts: tuple[Controller[Any] | Admission[Any], ...],
        options: ManagerOptions,
        namespace: str,
    ) -> None:
        self._once = OncePerFailure()
        self._open = OpenCluster(loop, ends=[self._once.stop])
        self._finalizer = guard(self, self._open)  # first: it ends the loop also if a check raises
        check_not_async()
        check_options(options)
        self._admissions = tuple(each for each in parts if isinstance(each, Admission))
        controllers = tuple(each for each in parts if not isinstance(each, Admission))
        for controller in controllers:
            check_is_controller(controller, type(self).__name__)
        self._remotes: dict[str, Transport] = {}
        self._definitions: tuple[Json, ...] = ()
        self._controllers, self._options, self.namespace = controllers, options, namespace

    # ------------------------------------------------------------------------- the user

    def apply(self, obj: Any) -> Json:
        """Create an object, or merge it into the existing one; return the server's answer."""
        manifest = manifest_of(obj)
        ref = self._ref_of(manifest)
        if ref.namespace:
            manifest["metadata"]["namespace"] = ref.namespace
        verb = Verb.PATCH if self._read(ref) else Verb.CREATE
        return self._sent(Request(verb, ref, manifest, query=_STRICT))

    def apply_file(self, path: str | Path) -> Objects:
        """Apply every document of a YAML file; return the server's answers."""
        return [self.apply(document) for document in documents(Path(path))]

    def patch(self, kind: KindLike, name: str, changes: Json, *, subresource: str = "") -> Json:
        """Send changes to an object as a merge patch; return the server's answer."""
        ref = self._ref(kind, name, None)
        sent = self._sent(Request(Verb.PATCH, ref, changes, subresource, Patch.MERGE, _STRICT))
        return check_status_kept(sent, changes, subresource)

    def delete(self, kind: KindLike, name: str, namespace: str | None = None) -> None:
        """Delete an object."""
        try:
            self._wait(self._user.delete(self._ref(kind, name, namespace)))
        except ApiError as error:
            raise explained(error) from None

    def add_namespace(self, name: str) -> str:
        """Create another namespace for this test; return its name, unique on a shared server."""
        called = self._own_name(name)
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": called}})
        return called

    def condition(self, kind: KindLike, name: str, condition_type: str = READY) -> Condition | None:
        """Return a condition of an object, in its status or annotation; None if there is none."""
        obj = self._read(self._ref(kind, name, None))
        if obj is None:
            return None
        loops = self._loops_of(kind)
        found = (find(seen, condition_type) for seen in statuses(loops, obj))
        condition = next(filter(None, found), None)
        if condition is None:
            declared = (one for loop in loops for one in loop.controller.graph.conditions)
            check_condition(condition_type, (READY, *declared))
        return condition

    def ready(self, kind: KindLike, name: str) -> bool:
        """Whether the object is Ready for its current generation, to all controllers of its kind."""
        obj, loops = self._read(self._ref(kind, name, None)), self._loops_of(kind)
        if obj is None or not loops:
            return obj is not None and is_ready(obj)
        return all(is_ready_for(loop, obj) for loop in loops)

    # -------------------------------------------------------------------------- the time

    @abstractmethod
    def settle(self, within: timedelta | None = None, *, until: datetime | None = None) -> None:
        """Let time pass until no pass is owed; raise ``NotSettledError`` after ``within``.

        With ``until``, let time pass until then first, scheduled passes included.
        """

    @abstractmethod
    def advance(self, duration: timedelta) -> None:
        """Let time pass, whether or not the controllers settle."""

    def eventually(self, holds: Callable[[], T], within: timedelta | None = None) -> T:
        """Let time pass until ``holds()`` returns a true value; return that value.

        An AssertionError, AttributeError, LookupError or TypeError counts as "not yet", because the
        object may not exist yet.  Raise ``NotSettledError`` after ``within``.
        """
        __tracebackhide__ = True
        check_function(holds)
        check_duration(within, "eventually")
        allowed = within or self._patience
        ends_at = self.loop.time() + allowed.total_seconds()
        while True:
            self._step()
            problem: Exception | None = None
            try:
                if found := holds():
                    return found
            except _NOT_YET as error:
                problem = error
            if self.loop.time() >= ends_at:
                raise NotSettledError(self._unmet(allowed, problem)) from problem
            self._pause()

    def writes_during(self, duration: timedelta) -> Exchanges:
        """Let time pass; return the writes of the controllers, none if they have converged."""
        __tracebackhide__ = True
        before = len(self.writes)
        self.advance(duration)
        return self.writes[before:]

    def at_rest(self) -> None:
        """Assert that converged controllers do not write.

        Let them settle, then reconcile every object twice, as two resyncs would; raise
        ``NotAtRestError`` with the writes if there were any.
        """
        __tracebackhide__ = True
        self.settle()
        before, objects = len(self.writes), self._all_objects()
        for _ in range(RESYNCS):
            self._wait(self._resync())
            self.settle()
        written = self.writes[before:]
        if written:
            raise NotAtRestError(
                f"not at rest: {RESYNCS} resyncs wrote\n{told(written, objects)}"
            ) from None

    @property
    def writes(self) -> Exchanges:
        """All writes of the controllers so far, except Events."""
        return self.transport.writes()

    # ----------------------------------------------------------------------- the process

    def restart(self) -> None:
        """Kill the process of the controllers and start another, with empty caches and queues."""
        self._kill()
        self._start()

    @abstractmethod
    def close(self) -> None:
        """Stop the controllers and release the server."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and not isinstance(error, NotSettledError):
            with suppress(Exception):  # the test's own error matters more
                if found := self.explain():
                    error.add_note(f"objects that are not Ready:\n{found}")
        self.close()

    # ------------------------------------------------------------------- for the two kinds

    _patience: timedelta

    @abstractmethod
    def _step(self) -> None:
        """Run everything that can run now; raise if the manager has failed."""

    @abstractmethod
    def _pause(self) -> None:
        """Let a little time pass between two checks."""

    @abstractmethod
    def _own_name(self, name: str) -> str:
        """Return the name of a namespace on this server."""

    def _line_to_server(self) -> Transport:
        """Return the transport of the controllers."""
        return self.transport

    def _start(self) -> None:
        self.manager = Manager(
            self._options,
            transport=self._line_to_server(),
            clock=self.clock,
            definitions=self._definitions,
        )
        for controller in self._controllers:
            self.manager.add(controller)
        for admission in self._admissions:
            self.manager.add(admission)
        for name, transport in self._remotes.items():
            self.manager.add_remote(name, transport)
        self._task = self._open.manager = self.loop.create_task(self.manager.run())
        self._once.start()

    def _kill(self) -> None:
        self._once.stop()
        self._open.stop_manager()

    def _check_alive(self) -> None:
        if self._task.done():
            self._task.result()  # raises what ended it
            raise MyrmidonError("the manager has stopped")

    def _sleep(self, seconds: float) -> None:
        self._wait(self.clock.sleep(max(seconds, 0.0)))

    def _turns_at(self) -> Iterable[float]:
        """Return when the pending passes are due, without resyncs and schedules (``Done(again=...)``).

        Objects that are being reconciled are left out: their next pass waits for that one to end.
        """
        for loop in self.manager.loops:
            for turn in loop.pool.queue.owed():
                if turn.key in loop.pool.queue.working:
                    continue
                if any(cause.relation not in _AT_REST for cause in turn.causes):
                    yield turn.due_at

    async def _resync(self) -> None:
        """Queue a pass for every object.  A coroutine, because the clock needs a running loop."""
        for loop in self.manager.loops:
            kind = loop.controller.kind()
            for obj in loop.view.list(kind):
                loop.pool.add(ref_of(kind, obj), cause=Cause("resync"))

    def _all_objects(self) -> Objects:
        found: Objects = []
        for loop in self.manager.loops:
            for kind in (loop.controller.kind(), *loop.controller.managed_kinds):
                found += loop.view.list(kind)
        return found

    def _loops_of(self, kind: Any) -> Loops:
        found = known_kind(kind)
        return [loop for loop in self.manager.loops if loop.controller.kind() == found]

    def _unmet(self, within: timedelta, problem: Exception | None) -> str:
        said = f": {problem}" if problem is not None and str(problem) else ""
        return f"{self._unsettled(within)}\nand the expected condition does not hold{said}"

    def _unsettled(self, within: timedelta) -> str:
        owed = self._describe(lambda queue: (*queue.working, *(turn.key for turn in queue.owed())))
        return (
            f"not settled after {within}; still owed a pass:\n{owed}\n"
            "  fix: look at the state in which it waits, give it more time with within=..., or wait for "
            "what the test needs with eventually(...)"
        )

    def _describe(self, chosen: "Callable[[WorkQueue[ObjectRef]], Iterable[ObjectRef]]") -> str:
        """Return a paragraph per chosen object: failing states, last refusal, next pass."""
        lines: list[str] = []
        for loop in self.manager.loops:
            queue, graph = loop.pool.queue, loop.controller.graph
            due = {turn.key: turn.due_at for turn in queue.owed()}
            for key in sorted(set(chosen(queue)), key=str):
                obj = loop.view.look(key)
                lines += told_object(key, obj and loop.home.seen(obj), graph)
                refused = last_refusal(self.writes, key)
                lines += [f"      refused: {refused}"] if refused else []
                lines.append(f"      {next_pass(due.get(key), self.loop.time())}")
        return "\n".join(lines)

    def explain(self) -> str:
        """Return a paragraph for each object that is not Ready: which state it is in, and why.

        The pytest plugin adds it to the report of every failed test.
        """
        return self._describe(self._not_ready)

    def _not_ready(self, queue: "WorkQueue[ObjectRef]") -> Iterable[ObjectRef]:
        for loop in self.manager.loops:
            if loop.pool.queue is queue:
                kind = loop.controller.kind()
                for obj in loop.view.list(kind):
                    if not is_ready_for(loop, obj):
                        yield ref_of(kind, obj)

    def _sent(self, request: Request) -> Json:
        """Send a request of the test's user; a refusal says how to go on."""
        try:
            answer: Json = self._wait(self._user.send(request))
        except ApiError as error:
            raise explained(error) from None
        return answer

    def _owes_a_pass(self) -> bool:
        return not self.manager.is_idle or any(True for _ in self._turns_at())

    def _ref_of(self, manifest: Json) -> ObjectRef:
        check_identified(manifest)
        known = {(kind.api_version, kind.kind): kind for kind in self._known_kinds()}
        kind = known.get((manifest["apiVersion"], manifest["kind"]))
        if kind is None:
            raise unknown_kind(manifest, (name for _, name in known))
        where = namespace_of(manifest) or self.namespace
        return ObjectRef(kind, manifest["metadata"]["name"], where if kind.namespaced else "")

    def _known_kinds(self) -> Iterable[Kind]:
        yield from kinds.ALL
        yield from (admission.kind() for admission in self._admissions)
        for controller in self._controllers:
            yield controller.kind()
            yield from kinds_of_versions(controller)
            yield from (*controller.managed_kinds, *controller.read_kinds)

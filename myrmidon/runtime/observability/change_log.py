"""The change log: one record for each write that changed an object in the cluster.

It answers "which controller changed this, when, and why" after the fact, for audits and for the
question what a roll-out of the controller did.  ``ManagerOptions.change_log`` appends one line of
JSON per record to a file, or to standard output; ``ManagerOptions.on_write`` calls a function.

How it works: a ``ChangeRecorder`` per controller wraps the reconcile function, to know the object and
the causes of each pass, and listens to the applicator that sends the writes of the passes.  A
``LineWriter`` puts lines into a queue, and a thread of its own writes them, so that a slow disk or a
pipe that is not read never blocks the event loop.  If the queue is full, lines are dropped and that
is logged.  The file is opened for appending and never rotated by us.

What a record contains: which fields changed, never their values.  For a Secret not even the keys of
``data`` are named.  A write that changed nothing or was refused has no record.  A write whose outcome
is unknown has one, because it may have changed the object.  So has each create, update and delete of
an ``External``, with the name and the id of the resource outside the cluster.

Not recorded: Events, the Lease, and requests that states send on their own.  Without the options nothing is installed, so there is no cost.
"""

import queue
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, finalizers_of, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Verb
from myrmidon.errors import UsageError
from myrmidon.fsm.engine import Outcome
from myrmidon.io.writes.sent_writes import SentWrite
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.observability.under_way import PassUnderWay, current_pass, drop
from myrmidon.runtime.queue.queue import Turn
from myrmidon.runtime.reconcile.external_effects import ExternalEffect
from myrmidon.runtime.reconcile.worker import Reconcile
from myrmidon.sets.stalls.contested_fields import changed_fields, field_text

LINES_MAX = 10_000
"""Lines that wait for the thread; at 400 bytes each that is 4 MB."""
FIELDS_MAX = 50
"""Changed fields that one record names; then ``...``."""
_CLOSE_SECONDS_MAX = 2.0
_SECRET_PARTS = ("data", "stringData")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """One write that changed an object in the cluster, or may have."""

    time: datetime
    controller: str
    object: ObjectRef
    """The object whose pass wrote."""
    state: str
    """The state that declared the output; empty for writes of the framework: the finalizer, the
    status, pruning."""
    verb: str
    """``create``, ``update``, ``patch`` or ``delete``."""
    target: ObjectRef
    """The object that was written."""
    subresource: str = ""
    outcome: Literal["changed", "unknown"] = "changed"
    """``unknown`` if no clear answer came: the write may have taken effect."""
    fields: tuple[str, ...] = ()
    """The paths of the fields that changed, without their values; a list is one field."""
    causes: tuple[str, ...] = ()
    """What caused the pass."""
    resource_version: str = ""
    """The resourceVersion after the write; empty if the object is gone or the outcome unknown."""
    external: str = ""
    """The name of the ``External`` whose resource outside the cluster was changed; else empty.
    ``target`` is then the object that owns it."""
    external_id: str = ""
    """The id of that resource; empty if it is not known."""

    def to_json(self) -> Json:
        """Return the record as a line of the change log contains it."""
        target = _named(self.target)
        if self.subresource:
            target["subresource"] = self.subresource
        if self.external:
            target = {"external": self.external, "id": self.external_id}
        return {
            "time": self.time.isoformat(),
            "controller": self.controller,
            "object": _named(self.object),
            "state": self.state,
            "verb": self.verb,
            "target": target,
            "outcome": self.outcome,
            "fields": list(self.fields),
            "cause": list(self.causes),
            "resourceVersion": self.resource_version,
        }


OnWrite: TypeAlias = Callable[[WriteRecord], None]


class ChangeRecorder:
    """Makes the records of one controller and passes each to ``report``."""

    def __init__(self, controller: str, clock: Clock, report: OnWrite) -> None:
        self._controller, self._clock, self._report = controller, clock, report

    def around(self, reconcile: Reconcile) -> Reconcile:
        """Return ``reconcile`` with its object and causes known while it runs.

        The passes of a ``Tracer`` are known without it.
        """

        async def followed(turn: Turn[ObjectRef]) -> Outcome | None:
            under_way = PassUnderWay(turn)
            current_pass.set(under_way)
            try:
                return await reconcile(turn)
            finally:
                under_way.append = drop

        return followed

    def wrote(self, sent: SentWrite) -> None:
        """Report a write, unless it changed nothing."""
        if not (sent.unknown or _has_changed(sent)):
            return
        under_way, request = current_pass.get(), sent.request
        turn = under_way.turn if under_way is not None and sent.by else None
        answer = sent.answer or {}
        self._report(
            WriteRecord(
                time=self._clock.now(),
                controller=self._controller,
                object=request.ref if turn is None else turn.key,
                state=sent.state,
                verb=str(request.verb),
                target=request.ref,
                subresource=request.subresource,
                outcome="unknown" if sent.unknown else "changed",
                fields=() if sent.unknown else fields_of(sent),
                causes=() if turn is None else tuple(map(str, turn.causes)),
                resource_version="" if answer.get("kind") == "Status" else version_of(answer),
            )
        )

    def acted_outside(self, effect: ExternalEffect) -> None:
        """Report a call that created, updated or deleted a resource outside the cluster."""
        under_way = current_pass.get()
        if under_way is None or under_way.ended:
            return  # a task that the state left behind
        turn = under_way.turn
        self._report(
            WriteRecord(
                time=self._clock.now(),
                controller=self._controller,
                object=turn.key,
                state="",
                verb=effect.verb,
                target=turn.key,
                outcome="unknown" if effect.unknown else "changed",
                causes=tuple(map(str, turn.causes)),
                external=effect.external,
                external_id=effect.id,
            )
        )


class LineWriter:
    """Appends lines to a file, or to standard output for ``-``, in a thread of its own."""

    def __init__(self, path: str, log: Logger) -> None:
        self._log, self._dropped = log, 0
        self._lines: queue.Queue[bytes | None] = queue.Queue(LINES_MAX)
        self._file = _opened(path)
        self._is_ours = path != "-"
        self._thread = threading.Thread(target=self._work, name="change-log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue one line, without its line end; never blocks."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            if not self._dropped:
                self._log.warning(
                    "change log lines dropped", why="the file or pipe takes lines too slowly"
                )
            self._dropped += 1

    def close(self) -> None:
        """Write what is queued and close the file; give up after two seconds."""
        with suppress(queue.Full):
            self._lines.put(None, timeout=_CLOSE_SECONDS_MAX)
            self._thread.join(_CLOSE_SECONDS_MAX)
        if self._dropped:
            self._log.warning("change log incomplete", dropped=self._dropped)

    def _work(self) -> None:
        failed = False
        while (line := self._lines.get()) is not None:
            try:
                self._file.write(line + b"\n")
                self._file.flush()
                failed = False
            except (OSError, ValueError) as error:  # ValueError: standard output was closed
                if not failed:
                    self._log.warning("change log not written", error=str(error))
                failed = True
        if self._is_ours:
            with suppress(OSError):
                self._file.close()


class ChangeLog:
    """The change log of one process: a file, a function of the user, or both."""

    def __init__(self, path: str, on_write: OnWrite | None, log: Logger) -> None:
        self._on_write, self._log = on_write, log
        self._lines = LineWriter(path, log) if path else None

    def report(self, record: WriteRecord) -> None:
        """Write a line and call the function; its exceptions are logged, and the pass goes on."""
        if self._lines is not None:
            self._lines.write(orjson.dumps(record.to_json()))
        if self._on_write is not None:
            try:
                self._on_write(record)
            except Exception as error:  # noqa: BLE001 - the write has succeeded; the pass goes on
                self._log.crash("on_write failed", error, target=record.target)

    def close(self) -> None:
        """Write the queued lines and close the file."""
        if self._lines is not None:
            self._lines.close()


def fields_of(sent: SentWrite) -> tuple[str, ...]:
    """Return the paths of the fields that a write changed; a deletion names none."""
    request, after = sent.request, sent.answer or {}
    if request.verb is Verb.DELETE:
        return ()
    if request.subresource == "status":
        found: Iterable[Any] = changed_fields(sent.before or {}, after, {"status": None})
    elif request.subresource:  # the answer is another kind, such as Scale
        found = changed_fields({}, request.body if isinstance(request.body, dict) else {})
    else:
        found = changed_fields(sent.before or {}, after)
    secret = request.ref.kind == kinds.SECRET
    names = dict.fromkeys(
        field_text(name[:1] if secret and name[0] in _SECRET_PARTS else name) for name, _ in found
    )
    listed = tuple(names)
    return listed if len(listed) <= FIELDS_MAX else (*listed[:FIELDS_MAX], "...")


def _has_changed(sent: SentWrite) -> bool:
    """Whether the answer shows that the write changed the object; False if it was refused.

    Removing the last finalizer of an object in deletion deletes it, and the answer is the object
    with its old resourceVersion.
    """
    if sent.answer is None:
        return False
    if sent.request.verb is Verb.DELETE or sent.before is None:
        return True
    if version_of(sent.answer) != version_of(sent.before):
        return True
    return finalizers_of(sent.answer) != finalizers_of(sent.before)


def _named(ref: ObjectRef) -> Json:
    named = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "name": ref.name}
    return {**named, "namespace": ref.namespace} if ref.namespace else named


def _opened(path: str) -> IO[bytes]:
    if path == "-":
        return sys.stdout.buffer
    try:
        return Path(path).open("ab")
    except OSError as error:
        raise UsageError(
            f"the change log cannot be opened: {error}.\n"
            "  fix: name a file in a folder that exists and is writable, or - for standard output"
        ) from None

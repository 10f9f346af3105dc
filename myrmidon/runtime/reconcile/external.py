"""Carry out what ``fsm.external.ledger`` decides about an external resource: ledger writes and calls.

``settle_external`` asks ``decide`` for the next action until the resource is as it should be, or
the pass has to stop.  What must hold:

- Before create is called, its Pending entry is in the status, confirmed by the API server: the
  answer to the write shows it.  A server that drops the field (an old CRD) stops the pass.
- The entry is written only over the entry that the decision was based on.  If another process has
  written it meanwhile, the pass stops and the next one decides anew.
- Nothing is called for an object without our finalizer, and nothing is created for one that is
  being deleted, except to learn the id of a resource whose create got no answer.
- A call that raises, times out or is cancelled leaves the entry as it is.
- While ``myrmidon plan`` asks, the external system is only asked, never told.

``unremoved_externals`` keeps the finalizer while an entry is not Removed, whatever the states did.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting, uid_of, version_of
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import (
    ExternalRefusedError,
    MyrmidonError,
    NotFoundError,
    ProgrammingError,
    UndeclaredExternalError,
)
from myrmidon.fsm.external.ledger import (
    CallCreate,
    CallDelete,
    CallUpdate,
    Gone,
    Last,
    Later,
    LedgerEntry,
    Look,
    Rules,
    Seen,
    Settled,
    Sight,
    WriteEntry,
    after_record,
    after_refusal,
    created,
    decide,
    entry_of,
    found,
    planned,
    unremoved,
)
from myrmidon.fsm.external.resource import External, late_defaults
from myrmidon.fsm.machine.results import Done, Failed, Result, Wait
from myrmidon.fsm.status.status_home import StatusPlace
from myrmidon.runtime.reconcile.external_effects import ExternalEffect, ExternalVerb
from myrmidon.runtime.reconcile.status_writer import send_status
from myrmidon.runtime.reconcile.subject import GoneError, Subject
from myrmidon.runtime.reconcile.write_errors import refusal
from myrmidon.sets.outputs.requests import write_query

Observed = TypeVar("Observed")
_LEDGER = StatusPlace()  # the status, wherever the conditions are kept


async def ensure_external(
    subject: Subject, external: External[Any, Observed], obj: Any, state: str
) -> Observed | Wait | Failed:
    """Bring the resource to what the object wants; return it as it is then, or what stopped us."""
    _check_declared(subject, external, state)
    if is_deleting(subject.obj):
        raise ProgrammingError(
            f"{type(subject.deps.controller).__name__}.{state} called ctx.ensure for an object that is "
            "being deleted.\n  fix: call ctx.remove in states of the finalizer graph"
        )
    run = _Run(subject, external, obj, wanted=True)
    stopped = await run.run()
    if stopped is not None:
        return stopped
    obstacle = await run.late_init()
    observed: Observed = run.observed
    return observed if obstacle is None else obstacle


async def remove_external(
    subject: Subject, external: External[Any, Any], obj: Any, state: str
) -> Result:
    """Delete the resource; return ``Done`` when it is known to be gone."""
    _check_declared(subject, external, state)
    return await _Run(subject, external, obj, wanted=False).run() or Done()


def unremoved_externals(subject: Subject) -> Failed | None:
    """Return the failure that keeps the finalizer while the ledger has open entries."""
    left = unremoved(subject.obj)
    if not left:
        return None
    named = ", ".join(f"{name} ({one.id or one.state})" for name, one in left.items())
    return Failed(
        "ExternalNotRemoved",
        f"status.externals still lists {named}, and the finalizer states have ended.\n"
        "  fix: let a finalizer state return `await ctx.remove(...)` for each of them",
        retry=False,
    )


def _check_declared(subject: Subject, external: External[Any, Any], state: str) -> None:
    controller = subject.deps.controller
    if not isinstance(external, controller.externals):
        raise UndeclaredExternalError(type(controller).__name__, state, type(external).__name__)


class _LedgerMovedError(MyrmidonError):
    """The entry is no longer the one that the decision was based on."""


class _Run:
    """One run over one external resource, within a state."""

    def __init__(
        self, subject: Subject, external: External[Any, Any], obj: Any, *, wanted: bool
    ) -> None:
        self._subject, self._external, self._obj, self._wanted = subject, external, obj, wanted
        self._rules = Rules(
            uid=uid_of(subject.obj),
            name=external.name,
            can_find=external.can_find,
            timeout=external.timeout,
            grace=external.grace,
            recreate=external.recreate,
        )
        self._clock = subject.deps.clock
        self._seen = Seen(Sight.UNSEEN, self._clock.now())
        self._last = Last.NOTHING
        self.observed: Any = None

    async def run(self) -> Wait | Failed | None:
        """Act until nothing is left to do; return None then, or what stopped us."""
        try:
            return await self._run()
        except ExternalRefusedError as error:
            return _refused(error)
        except TimeoutError:
            limit = self._external.timeout
            return Failed("ExternalTimeout", f"{self._external.name} did not answer within {limit}")

    async def late_init(self) -> Wait | Failed | None:
        """Write the values that the external system chose to spec fields that are not set."""
        chosen = self._external.late_init(self._obj, self.observed)
        subject = self._subject
        unset = late_defaults(subject.obj.get("spec"), chosen) if chosen else {}
        if not unset:
            return None
        body = {"metadata": {"resourceVersion": version_of(subject.obj)}, "spec": unset}
        query = write_query(subject.deps.controller.name)
        try:
            await subject.send(Request(Verb.PATCH, subject.ref, body, query=query))
        except NotFoundError as error:
            raise GoneError(str(subject.ref)) from error
        except MyrmidonError as error:
            return refusal(subject.ref, error)
        subject.moved = True  # no state of this pass has seen the new spec
        return None

    async def _run(self) -> Wait | Failed | None:
        while True:
            entry = entry_of(self._subject.obj, self._rules.name)
            action = decide(
                entry,
                self._seen,
                self._last,
                self._rules,
                wanted=self._wanted,
                now=self._clock.now(),
            )
            match action:
                case Settled():
                    return None
                case Later(reason, message, after):
                    return Wait(reason, f"{self._external.name}: {message}", after=after)
                case Gone(known):
                    said = f"{known} was deleted by another party"
                    return Failed("ExternalGone", said, retry=False)
                case _:
                    obstacle = await self._act(entry, action)
            if obstacle is not None:
                return obstacle

    async def _act(
        self,
        entry: LedgerEntry | None,
        action: WriteEntry | Look | CallCreate | CallUpdate | CallDelete,
    ) -> Wait | Failed | None:
        if self._subject.deps.planning and not isinstance(action, Look):
            return Wait("Planned", f"{self._external.name}: {planned(action)}")
        match action:
            case WriteEntry(new):
                return await self._record(new)
            case Look():
                return await self._look(entry, action)
            case CallCreate():
                return await self._create(action)
            case CallUpdate(known):
                await self._update(known)
            case CallDelete(known):
                await self._delete(known)
        return None

    async def _look(self, entry: LedgerEntry | None, look: Look) -> Wait | Failed | None:
        asked_at = self._clock.now()
        if look.id is None:
            async with self._limit():
                known = await self._external.find(self._obj, look.token)
            if known is not None:
                new = found(entry, self._rules, known, self._clock.now())
                return await self._act(entry, WriteEntry(new))
            self._seen = Seen(Sight.ABSENT, asked_at)
            return None
        async with self._limit():
            self.observed = await self._external.observe(self._obj, look.id)
        sight = Sight.PRESENT
        if self.observed is None:
            sight = Sight.ABSENT
        elif self._wanted and self._external.differs(self._obj, self.observed):
            sight = Sight.DIFFERENT
        self._seen = Seen(sight, asked_at)
        return None

    async def _create(self, create: CallCreate) -> Wait | Failed | None:
        entry, limit = create.entry, self._external.timeout
        if entry.at is not None:
            limit -= self._clock.now() - entry.at  # see the assumptions in fsm.ledger
        if limit <= timedelta(0):
            raise TimeoutError
        try:
            async with self._effect("create", limit) as effect:
                known = effect.id = await self._external.create(self._obj, entry.token)
        except ExternalRefusedError as error:
            return await self._create_refused(create, error)
        if not known:
            raise ProgrammingError(
                f"{type(self._external).__name__}.create returned {known!r}, which is not an id.\n"
                "  fix: return the id of the resource as a string that is not empty"
            )
        self._subject.log.info("created", external=self._external.name, id=known)
        return await self._record(created(entry, known, self._clock.now()))

    async def _create_refused(
        self, create: CallCreate, error: ExternalRefusedError
    ) -> Wait | Failed | None:
        terminal = not error.retry and error.after is None
        without = after_refusal(create, terminal=terminal)
        if without is None:
            # Nothing is proved: to remove it, the create is repeated until it is.
            unknown = Wait("ExternalUnknown", f"{error}; an earlier create may still take effect")
            return _refused(error) if self._wanted else unknown
        obstacle = await self._record(without)
        return _refused(error) if obstacle is None and self._wanted else obstacle

    async def _update(self, known: str) -> None:
        async with self._effect("update", id_=known):
            await self._external.update(self._obj, known, self.observed)
        self._subject.log.info("updated", external=self._external.name, id=known)
        self._forget(Last.UPDATED)

    async def _delete(self, known: str) -> None:
        async with self._effect("delete", id_=known):
            await self._external.delete(self._obj, known, self.observed)
        self._subject.log.info("deleted", external=self._external.name, id=known)
        self._forget(Last.DELETED)

    @asynccontextmanager
    async def _effect(
        self, verb: ExternalVerb, limit: timedelta | None = None, *, id_: str = ""
    ) -> AsyncIterator[ExternalEffect]:
        """Limit the time of a call that has an effect, and report it; a refusal has none."""
        effect = ExternalEffect(self._subject.by, self._external.name, verb, id_)
        report = self._subject.deps.external_acted
        try:
            async with self._limit(limit):
                yield effect
        except ExternalRefusedError:
            raise
        except BaseException:
            effect.unknown = True
            report(effect)
            raise
        report(effect)

    async def _record(self, entry: LedgerEntry) -> Wait | Failed | None:
        """Write the entry; return None once the server has confirmed it, else the obstacle."""
        subject, name = self._subject, self._rules.name
        before = entry_of(subject.obj, name)

        def with_entry(obj: Json) -> Json:
            if entry_of(obj, name) != before:
                raise _LedgerMovedError(name)
            return {"externals": {name: entry.to_json()}}

        try:
            await send_status(subject, _LEDGER, with_entry)
        except GoneError:
            raise
        except _LedgerMovedError:
            return subject.overtaken()
        except MyrmidonError as error:
            return refusal(subject.ref, error)
        if entry_of(subject.obj, name) != entry:
            return Failed(
                "LedgerNotStored",
                f"the API server did not store status.externals of {subject.ref}; without it a "
                "resource could be created twice or left behind.\n"
                "  fix: apply the CRD of `myrmidon generate crd` to the cluster",
            )
        self._obj.status.externals = dict(subject.obj["status"]["externals"])
        if subject.deps.controller.finalizer() not in finalizers_of(subject.obj):
            return subject.overtaken()
        if is_deleting(subject.obj) and self._wanted:
            return subject.overtaken()  # the next pass runs the finalizer states
        if before is not None and before.id is not None and entry.state == "Pending":
            message = f"{name} {before.id} was deleted by another party and is created again"
            subject.event("Warning", "ExternalGone", message)
        self._forget(after_record(before, entry, self._rules))
        return None

    def _forget(self, last: Last) -> None:
        """Note what was done last; what was seen before it says nothing any more."""
        self._seen, self._last = Seen(Sight.UNSEEN, self._clock.now()), last

    def _limit(self, limit: timedelta | None = None) -> asyncio.Timeout:
        return asyncio.timeout((self._external.timeout if limit is None else limit).total_seconds())


def _refused(error: ExternalRefusedError) -> Wait | Failed:
    if error.after is not None:
        return Wait(error.reason, str(error), after=error.after)
    return Failed(error.reason, error, retry=error.retry)

"""OutputWriter: writes the outputs of the states of one pass, and notes what became of each.

1. Every output is checked before any is written: an output that the caches would never show, or
   that names the object itself, is refused.
2. Children without an owner reference are recorded in the status (``tracked_children``).
3. The applicator writes the outputs; those that are as declared cost no request.
   Before a child that another client deleted is created again, the object is read from the server:
   if it is gone or being deleted, the pass ends.
4. Of each output the pass keeps what later steps need: which objects it manages now, which writes
   got no clear answer, which were refused because another object is in the way, and whether a kind
   that an earlier state had read has changed.

Pruning and the removal of the finalizer delete children with ``flush``, too.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal

from myrmidon.api.objects.accessors import is_deleting
from myrmidon.api.objects.conditions import STALLED, status_of
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import (
    MyrmidonError,
    OutputError,
    SelfOutputError,
    StalledError,
    UnselectedOutputError,
    UnwatchedNamespaceError,
)
from myrmidon.fsm.engine import ACTED, Report
from myrmidon.fsm.machine.results import Failed, Wait
from myrmidon.io.writes.applicator import Written
from myrmidon.runtime.reconcile.policies import observe
from myrmidon.runtime.reconcile.selected_deletes import selected_deletes
from myrmidon.runtime.reconcile.subject import GoneError, Subject
from myrmidon.runtime.reconcile.tracked_children import record_children
from myrmidon.runtime.reconcile.write_errors import refusal, refusals
from myrmidon.runtime.wakeups.refused_outputs import REFUSALS, is_blocked
from myrmidon.sets.outputs.edits import is_own_edit
from myrmidon.sets.outputs.options import DEFAULT
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.outputs.outputs import Apply, Delete, Output, Release
from myrmidon.sets.ownership.owner_references import is_tracked


class OutputWriter:
    """Writes the outputs of one pass."""

    __slots__ = ("_confirmed", "_confirming", "_subject", "overtaken", "read", "wrote")

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._confirming: asyncio.Lock | None = None
        self._confirmed: MyrmidonError | Literal[True] | None = None
        self.wrote: list[Written] = []
        """The outputs for which a request was sent so far."""
        self.overtaken = False
        """True if the pass changed a kind that an earlier state had read, or if an object that was
        in the way of an output is gone: the pass decided on stale data, so the object gets another."""
        self.read: dict[Kind, None] = {}
        """The kinds that states have read so far."""

    async def write(self, out: OutputSet, state: str) -> Report:
        """Check and write the outputs of a state."""
        subject, outputs = self._subject, out.declared()
        if out.collections:
            refused = self._select(out, outputs, state)
            if refused is not None:
                return refused
        if not outputs:
            return ACTED
        own, covers_all = subject.ref, subject.deps.objects.covers_all
        tracked: list[ObjectRef] = []
        for output in outputs:
            ref = output.ref
            if ref == own or not covers_all:
                misplaced = self._misplaced(output, state)
                if misplaced is not None:
                    return refusal(ref, misplaced)
            if type(output) is Apply and output.options is not DEFAULT and is_tracked(output):
                tracked.append(ref)
        if subject.policy == "observe":
            return self._observe(outputs)
        obstacle = await record_children(subject, tracked) if tracked else None
        return obstacle or await self.flush(outputs, state)

    def _select(self, out: OutputSet, outputs: list[Output], state: str) -> Report | None:
        """Add the deletes of ``out.delete_all``; return the refusal if a namespace is not watched."""
        self.read.update(dict.fromkeys(rule.kind for rule in out.collections))
        try:
            outputs += selected_deletes(self._subject, out, state)
        except UnwatchedNamespaceError as error:
            return refusal(self._subject.ref, error)
        return None

    def _observe(self, outputs: Sequence[Output]) -> Report:
        """Compare the outputs with the caches, and write none of them."""
        subject = self._subject
        report = observe(subject, outputs, creating=not is_deleting(subject.obj))
        if report is ACTED:
            there = (one.ref for one in outputs if isinstance(one, Apply))
            subject.managed.applied.update(dict.fromkeys(there))
        return report

    async def flush(self, outputs: Sequence[Output], state: str) -> Report:
        """Write the outputs; return a result that names every refusal, ``ACTED`` if there was none."""
        subject = self._subject
        parent, applicator = subject.parent, subject.deps.applicator
        creating = not is_deleting(subject.obj)
        first = applicator.first_open(outputs, parent, creating=creating)
        if first is None:
            self._note_held(outputs, state)
            return ACTED
        try:
            written = await applicator.write(
                outputs,
                parent,
                creating=creating,
                by=subject.by,
                first=first,
                confirm=self._confirm,
            )
        except asyncio.CancelledError:
            for output in outputs:
                self._note_unsure(output)
            raise
        failed = False
        for one in written:
            self._note(one, state)
            failed = failed or one.error is not None
        return self._refused(written) if failed else ACTED

    def _refused(self, written: Sequence[Written]) -> Report:
        """Return the result for outputs that were refused; raise ``GoneError`` if the parent is gone."""
        subject, refused = self._subject, list[Wait | Failed]()
        for one in written:
            if isinstance(one.error, GoneError):
                raise one.error
            if one.error is not None:
                refused.append(refusal(one.output.ref, one.error))
                seen = subject.deps.home.seen(subject.obj)
                if isinstance(one.error, StalledError) and status_of(seen, STALLED) != "True":
                    subject.event("Warning", STALLED, str(one.error))
        return refusals(refused)

    async def _confirm(self) -> None:
        """Read the object once in this pass, before children that vanished are created again."""
        self._confirming = self._confirming or asyncio.Lock()
        async with self._confirming:
            if self._confirmed is None:
                try:
                    await self._subject.confirm()
                except MyrmidonError as error:
                    self._confirmed = error
                else:
                    self._confirmed = True
        if isinstance(self._confirmed, MyrmidonError):
            raise self._confirmed

    def _misplaced(self, output: Output, state: str) -> OutputError | None:
        """Return the error of an output that must not be written; checked before any is written."""
        subject, ref = self._subject, output.ref
        controller, objects = subject.deps.controller, subject.deps.objects
        name = type(controller).__name__
        if ref == subject.ref and not is_own_edit(output) and not isinstance(output, Delete):
            return SelfOutputError(name, state, str(ref))
        if not objects.covers(ref):
            watched = objects.namespaces_of(ref.kind)
            return UnwatchedNamespaceError(name, state, str(ref), ref.namespace, watched)
        if isinstance(output, Apply) and not objects.selects(ref.kind, output.manifest):
            selector = controller.shapes[ref.kind].selector
            return UnselectedOutputError(name, state, str(ref), selector)
        return None

    # ---------------------------------------------------------------------------- notes

    def _note_held(self, outputs: Sequence[Output], state: str) -> None:
        """Note outputs for which nothing had to be sent; as ``_note``, but cheaper for most."""
        applied, wrote = self._subject.managed.applied, self._subject.deps.observing.wrote
        for output in outputs:
            if type(output) is Apply:
                ref = output.ref
                applied[ref] = None
                wrote(ref.kind.kind, "apply", "skipped")
            else:
                self._note(Written(output, "skipped"), state)

    def _note(self, written: Written, state: str) -> None:
        output, outcome, verb, error, adopted = written
        ref, applied = output.ref, isinstance(output, Apply)
        subject = self._subject
        said = verb or type(output).__name__.lower()
        subject.deps.observing.wrote(ref.kind.kind, said, outcome)
        if error is None and applied:
            subject.managed.applied[ref] = None
            if verb is None:
                return  # nothing was sent
        if self.read and outcome == "changed" and ref.kind in self.read:
            self.overtaken = True
        if verb is not None:
            self.wrote.append(written)
            subject.log.debug("wrote", output=ref, state=state, outcome=outcome)
        if adopted:
            subject.event("Normal", "Adopted", f"{ref} existed before and is managed from now on")
        if error is not None:
            self._note_unsure(output)
            if isinstance(error, REFUSALS):
                self._note_refused(output)
        elif not applied:
            self._note_done(output, changed=outcome == "changed")

    def _note_done(self, output: Output, *, changed: bool) -> None:
        """Note that a delete, a release or a patch succeeded."""
        subject, ref = self._subject, output.ref
        if ref == subject.ref:
            if changed:
                subject.take_own_edit(output)
        elif isinstance(output, Release) or subject.deps.objects.get(ref) is None:
            subject.managed.gone[ref] = None

    def _note_refused(self, output: Output) -> None:
        """Wait for the object in the way; look again at once if it has gone away meanwhile."""
        subject = self._subject
        subject.deps.refused.note(subject.ref, output.ref)
        current = subject.deps.objects.get(output.ref)
        if not is_blocked(current, output, subject.parent):
            self.overtaken = True

    def _note_unsure(self, output: Output) -> None:
        """Remember an output that may exist, because its write got no clear answer."""
        subject = self._subject
        if isinstance(output, Apply) and subject.deps.applicator.is_unknown(output.ref):
            subject.deps.unsure.setdefault(subject.ref, {})[output.ref] = None

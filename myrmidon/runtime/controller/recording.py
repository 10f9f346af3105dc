"""PassRecording: connects the recorder and the change log to the passes of one controller."""

from collections.abc import Callable

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.io.writes.sent_writes import FindSink, SentWrite, WriteParts
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.observability.change_log import ChangeLog, ChangeRecorder
from myrmidon.runtime.observability.recorder import Recorder
from myrmidon.runtime.observability.trace import Tracer
from myrmidon.runtime.observability.under_way import writes_of_pass
from myrmidon.runtime.reconcile.external_effects import ExternalEffect
from myrmidon.runtime.reconcile.pass_dependencies import PassDependencies
from myrmidon.runtime.reconcile.worker import Reconcile


class _Reporting:
    """Reports each write at once, and notes it in its pass."""

    def __init__(self, changes: ChangeRecorder) -> None:
        self._changes = changes

    def append(self, parts: WriteParts) -> None:
        writes_of_pass().append(parts)
        self._changes.wrote(SentWrite(*parts))


class PassRecording:
    """What records the passes of one controller; without the options, nothing."""

    def __init__(
        self,
        controller: str,
        clock: Clock,
        recorder: Recorder | None,
        changes: ChangeLog | None,
        observing: Observing,
    ) -> None:
        self.tracer = self._changes = None
        if recorder is not None:
            self.tracer = Tracer(controller, clock, recorder, observing.state_timers)
        if changes is not None:
            self._changes = ChangeRecorder(controller, clock, changes.report)

    @property
    def sink(self) -> FindSink | None:
        """Where the applicator notes each write; None if they are not recorded."""
        if self._changes is not None:
            reporting = _Reporting(self._changes)
            return lambda: reporting
        return None if self.tracer is None else writes_of_pass

    def connect(self, deps: PassDependencies) -> None:
        """Let the passes report the time of states, and their effects outside the cluster."""
        listeners = [one.acted_outside for one in (self.tracer, self._changes) if one is not None]

        def acted_outside(effect: ExternalEffect) -> None:
            for listener in listeners:
                listener(effect)

        if listeners:
            deps.external_acted = acted_outside
        if self.tracer is not None:
            deps.state_ran = self.tracer.state_ran

    def around(self, reconcile: Reconcile, read: Callable[[ObjectRef], Json | None]) -> Reconcile:
        """Return ``reconcile`` with its passes recorded; ``read`` returns the cached object."""
        if self.tracer is not None:
            return self.tracer.around(reconcile, read)
        return reconcile if self._changes is None else self._changes.around(reconcile)

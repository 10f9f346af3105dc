"""PassDependencies: the collaborators and the memory that all passes of a controller share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import READY, RECONCILING, STALLED
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.typed.object_types import reader_of
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.status.status_home import StatusHome, home_of
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.io.writes.applicator import Applicator
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.controller import Observing
from myrmidon.runtime.queue.retries import Retries
from myrmidon.runtime.reconcile.dropped_outputs import DroppedOutputs
from myrmidon.runtime.reconcile.error_reports import ErrorReports
from myrmidon.runtime.reconcile.external_effects import ExternalEffect
from myrmidon.runtime.reconcile.run_state import RunState, run_state
from myrmidon.runtime.views.cluster_view import ClusterView
from myrmidon.runtime.wakeups.read_dependencies import Readers
from myrmidon.runtime.wakeups.refused_outputs import RefusedOutputs
from myrmidon.sets.outputs.identification import Declarer, declarer_of
from myrmidon.sets.outputs.outputs import OutputDefaults
from myrmidon.sets.outputs.standard_labels import standard_labels


@dataclass(slots=True)
class PassDependencies:
    """One per controller, shared by all its passes.

    The dictionaries at the end are only memory: losing them in a restart costs requests, not
    correctness.
    """

    controller: Controller[Any]
    client: Client
    applicator: Applicator
    objects: ClusterView
    clock: Clock
    observing: Observing
    record_event: Callable[[Json, str, str, str], None]
    discovery: Discovery
    retries: Retries
    refused: RefusedOutputs = field(default_factory=RefusedOutputs)
    readers: Readers = field(default_factory=Readers)
    """What the last pass over each object has read."""
    errors: ErrorReports = field(default_factory=lambda: ErrorReports("", Logger()))
    """Which unexpected exceptions each object has raised before."""
    dropped: DroppedOutputs = field(default_factory=DroppedOutputs)
    """Which states were warned that their outputs were dropped."""
    planning: bool = False
    """Whether no pass may have an effect outside the API server (``ManagerOptions.planning``)."""
    run_state: RunState = run_state
    """Runs one state; tracing puts a span around it."""
    external_acted: Callable[[ExternalEffect], None] = lambda _effect: None
    """Called after each create, update or delete outside the cluster, for the change log."""
    shared: bool = False
    """Whether another controller of this program reconciles the same kind."""
    shares_status: bool = False
    """Whether ``status.resourceRefs`` belongs to another controller of the same kind."""
    home: StatusHome = field(init=False)
    """Where conditions and the record of children are kept."""
    state_ran: Callable[[str, float], None] = field(init=False)
    """Called with the name of each state that ran and the seconds it took; by default the metrics."""
    read_object: Callable[[Json], Any] = field(init=False)
    """Return an object as its states get it; raise ``UnfitObjectError`` if it does not fit."""
    own_conditions: frozenset[str] = field(init=False)
    """The types of the conditions that the controller may write."""
    declarers: dict[str, Declarer] = field(init=False)
    """Per state: who declares its outputs."""
    sets_defaults: bool = field(init=False)
    """Whether outputs have defaults of the controller (``output_defaults``)."""
    settled: dict[ObjectRef, tuple[str, str]] = field(default_factory=dict)
    """Per object: the last status patch that the server accepted but stored differently (for
    example pruned), and the resourceVersion it produced; it is not sent again for that version."""
    unsure: dict[ObjectRef, dict[ObjectRef, None]] = field(default_factory=dict)
    """Per object: outputs whose write got no clear answer: they may exist although no status
    records them."""
    strangers: dict[ObjectRef, dict[str, None]] = field(default_factory=dict)
    """Per object: uids of objects that name it as their owner but that another writer created."""
    acknowledged: dict[ObjectRef, dict[str, None]] = field(default_factory=dict)
    """Per object: uids of children that the last look found beside the record, and that are ours."""
    foreign_conditions: dict[ObjectRef, dict[str, None]] = field(default_factory=dict)
    """Per object: types of conditions that no state declares and that another writer wrote."""

    def __post_init__(self) -> None:
        options = self.controller.options
        self.home = home_of(self.controller, shared=self.shares_status)
        self.read_object = reader_of(self.controller.resource)
        self.own_conditions = _own_conditions(self.controller)
        self.declarers = _declarers(self.controller)
        self.state_ran = self.observing.state_ran
        self.sets_defaults = options.standard_labels or options.remove_undeclared

    def output_defaults(self, ref: ObjectRef) -> OutputDefaults:
        """Return the options that every output of an object has."""
        options = self.controller.options
        labels = standard_labels(self.controller.name, ref.name) if options.standard_labels else {}
        return OutputDefaults(labels, options.remove_undeclared)

    def forget(self, ref: ObjectRef) -> None:
        """Drop everything that is remembered about an object, because it is gone."""
        self.observing.forget(ref)
        self.readers.forget(ref)
        self.retries.forget(ref)
        self.refused.drop(ref)
        self.errors.forget(ref)
        for memory in (
            self.settled,
            self.unsure,
            self.strangers,
            self.acknowledged,
            self.foreign_conditions,
        ):
            memory.pop(ref, None)


def _declarers(controller: Controller[Any]) -> dict[str, Declarer]:
    kinds, name, class_name = controller.managed_kinds, controller.name, type(controller).__name__
    return {
        state: declarer_of(kinds, controller=name, state=state, class_name=class_name)
        for state in controller.graph.states
    }


def _own_conditions(controller: Controller[Any]) -> frozenset[str]:
    own = (*controller.graph.conditions, STALLED)  # removed by the first pass that is not stalled
    if controller.options.kstatus:
        own = (*own, RECONCILING)
    return frozenset((*own, READY) if controller.options.ready_condition else own)

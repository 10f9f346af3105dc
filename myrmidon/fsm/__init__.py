"""Controllers as state machines: states and results, the walk of one pass, the resulting status.

engine             which state runs next, and when a walk stops
controller         the class that users write, and what is checked when it is defined
context            what a state's function is given
claims             controllers of claims, whose work happens in a composite object
remote_clusters    which other clusters a controller uses
machine/           ``@state``, its results ``Done``, ``Wait`` and ``Failed``, the graph of the edges
declaration/       options, watches, channels, shapes of kinds, policies, permissions
children/          names, readiness and rolling replacement of children; ready-made states
external/          resources outside the cluster, and the ledger that survives a crash
status/            the status that a pass leaves, where it is kept, how it is written; retry limits
metadata/          finalizers, requests for a pass and suspension, as the metadata of an object says
misuse/            mistakes that Python would let through: forgotten awaits, classes for objects
"""

from myrmidon.fsm.children.adopting import adopt_by_selector
from myrmidon.fsm.children.child_states import (
    delete_children_foreground,
    delete_children_in_reverse,
    when_children_ready,
)
from myrmidon.fsm.children.naming import hashed_name
from myrmidon.fsm.children.rollouts import Rollout, revised, rolling
from myrmidon.fsm.claims import ClaimController
from myrmidon.fsm.context import Cause, Context
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.channel import Channel
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.fsm.declaration.shapes import Manages, Reads
from myrmidon.fsm.declaration.watches import (
    Index,
    Lookup,
    Predicate,
    Watch,
    annotations_changed,
    changed,
    generation_changed,
    labels_changed,
)
from myrmidon.fsm.engine import Walk
from myrmidon.fsm.external.resource import External
from myrmidon.fsm.machine.graph import Graph
from myrmidon.fsm.machine.results import Done, Failed, Result, Wait
from myrmidon.fsm.machine.states import Fork, State, state

__all__ = [
    "Cause",
    "Channel",
    "ClaimController",
    "Context",
    "Controller",
    "ControllerOptions",
    "Done",
    "External",
    "Failed",
    "Fork",
    "Graph",
    "Index",
    "Lookup",
    "Manages",
    "Predicate",
    "Reads",
    "Result",
    "Rollout",
    "State",
    "Wait",
    "Walk",
    "Watch",
    "adopt_by_selector",
    "annotations_changed",
    "changed",
    "delete_children_foreground",
    "delete_children_in_reverse",
    "generation_changed",
    "hashed_name",
    "labels_changed",
    "revised",
    "rolling",
    "state",
    "when_children_ready",
]

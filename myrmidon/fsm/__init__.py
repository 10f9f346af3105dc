"""Controllers as state machines: states and results, the walk of one pass, the resulting status."""

from myrmidon.fsm.adopting import adopt_by_selector
from myrmidon.fsm.channel import Channel
from myrmidon.fsm.children import (
    delete_children_foreground,
    delete_children_in_reverse,
    when_children_ready,
)
from myrmidon.fsm.claims import ClaimController
from myrmidon.fsm.context import Cause, Context
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.engine import Walk
from myrmidon.fsm.external import External
from myrmidon.fsm.graph import Graph
from myrmidon.fsm.naming import hashed_name
from myrmidon.fsm.options import ControllerOptions
from myrmidon.fsm.results import Done, Failed, Result, Wait
from myrmidon.fsm.rollouts import Rollout, revised, rolling
from myrmidon.fsm.shapes import Manages, Reads
from myrmidon.fsm.states import Fork, State, state
from myrmidon.fsm.watches import (
    Index,
    Lookup,
    Predicate,
    Watch,
    annotations_changed,
    changed,
    generation_changed,
    labels_changed,
)

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

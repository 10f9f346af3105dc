"""Kubernetes controllers declared as state machines.

The names that the author of a controller needs are here:

    a resource       Resource, Model, Status, ExternalStatus, Column, Scale, Rule, Immutable,
                     one_of, Unstructured
    its controller   Controller, state, Fork, Context, OutputSet, ControllerOptions,
                     ClaimController, Permission
    ready-made parts when_children_ready, delete_children_foreground, delete_children_in_reverse,
                     rolling, revised, adopt_by_selector, exists, has_condition
    results          Done, Wait, Failed, Result, ConditionValue
    admission        validates, defaults, Admission, AdmissionRequest, AdmissionContext
    other systems    External, ExternalRefusedError
    other objects    kinds, Kind, ObjectRef, Manages, Reads, Watch, Index, changed, Channel, hashed_name
    running it       Manager, ManagerOptions, WebhookOptions

Each name is loaded when it is first used, so that the embedded server and the command line, which
need few of them, start fast.  Import everything else from its own package.  A package imports only
from packages above it in this list:

    errors     every error, as a tree               pure
    api        names, objects, conditions, types    pure
    patch      merge, compare and diff JSON         pure
    sets       outputs, and the request for each    pure
    versions   conversion between versions          pure
    fsm        states, results, the walk            pure
    io         client, watches, cache, applicator   network
    apiserver  an API server in the process         for development and tests
    admission  validators and defaults              pure
    runtime    queue, workers, manager              joins fsm and io
    generate   CRDs, roles, state diagrams          pure
    testing    harness, virtual time                for tests
    cli        the command ``myrmidon``
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from myrmidon.api.objects import kinds
    from myrmidon.api.objects.conditions import Condition, ConditionValue
    from myrmidon.api.objects.refs import Kind, ObjectRef
    from myrmidon.api.typed.markers import Column, Rule, Scale
    from myrmidon.api.typed.model import Model
    from myrmidon.api.typed.ready_made_rules import Immutable, one_of
    from myrmidon.api.typed.resource import Resource
    from myrmidon.api.typed.status import ExternalStatus, Status
    from myrmidon.api.typed.unstructured import Unstructured
    from myrmidon.errors import ExternalRefusedError, MyrmidonError
    from myrmidon.fsm.children.adopting import adopt_by_selector
    from myrmidon.fsm.children.child_states import (
        delete_children_foreground,
        delete_children_in_reverse,
        when_children_ready,
    )
    from myrmidon.fsm.children.naming import hashed_name
    from myrmidon.fsm.children.readiness import exists, has_condition
    from myrmidon.fsm.children.rollouts import Rollout, revised, rolling
    from myrmidon.fsm.claims import ClaimController
    from myrmidon.fsm.context import Cause, Context
    from myrmidon.fsm.controller import Controller
    from myrmidon.fsm.declaration.channel import Channel
    from myrmidon.fsm.declaration.options import ControllerOptions
    from myrmidon.fsm.declaration.permissions import Permission
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
    from myrmidon.fsm.external.resource import External
    from myrmidon.fsm.machine.results import Done, Failed, Result, Wait
    from myrmidon.fsm.machine.states import Fork, state
    from myrmidon.runtime.manager import Manager
    from myrmidon.runtime.options import ManagerOptions
    from myrmidon.runtime.webhooks.options import WebhookOptions
    from myrmidon.sets.outputs.options import ApplyOptions
    from myrmidon.sets.outputs.output_set import OutputSet
    from myrmidon.webhooks.admission.declarations import defaults, validates
    from myrmidon.webhooks.admission.requests import AdmissionContext, AdmissionRequest
    from myrmidon.webhooks.admission.rules import Admission

_HOMES = {
    "myrmidon.webhooks.admission.declarations": ("defaults", "validates"),
    "myrmidon.webhooks.admission.requests": ("AdmissionContext", "AdmissionRequest"),
    "myrmidon.webhooks.admission.rules": ("Admission",),
    "myrmidon.api.objects.conditions": ("Condition", "ConditionValue"),
    "myrmidon.api.typed.markers": ("Column", "Rule", "Scale"),
    "myrmidon.api.typed.model": ("Model",),
    "myrmidon.api.typed.ready_made_rules": ("Immutable", "one_of"),
    "myrmidon.api.objects.refs": ("Kind", "ObjectRef"),
    "myrmidon.api.typed.resource": ("Resource",),
    "myrmidon.api.typed.status": ("ExternalStatus", "Status"),
    "myrmidon.errors": ("ExternalRefusedError", "MyrmidonError"),
    "myrmidon.fsm.children.adopting": ("adopt_by_selector",),
    "myrmidon.api.typed.unstructured": ("Unstructured",),
    "myrmidon.fsm.declaration.channel": ("Channel",),
    "myrmidon.fsm.children.child_states": (
        "delete_children_foreground",
        "delete_children_in_reverse",
        "when_children_ready",
    ),
    "myrmidon.fsm.claims": ("ClaimController",),
    "myrmidon.fsm.context": ("Cause", "Context"),
    "myrmidon.fsm.controller": ("Controller",),
    "myrmidon.fsm.external.resource": ("External",),
    "myrmidon.fsm.children.naming": ("hashed_name",),
    "myrmidon.fsm.declaration.options": ("ControllerOptions",),
    "myrmidon.fsm.declaration.permissions": ("Permission",),
    "myrmidon.fsm.children.readiness": ("exists", "has_condition"),
    "myrmidon.fsm.machine.results": ("Done", "Failed", "Result", "Wait"),
    "myrmidon.fsm.children.rollouts": ("Rollout", "revised", "rolling"),
    "myrmidon.fsm.machine.states": ("Fork", "state"),
    "myrmidon.fsm.declaration.shapes": ("Manages", "Reads"),
    "myrmidon.fsm.declaration.watches": (
        "Index",
        "Lookup",
        "Predicate",
        "Watch",
        "annotations_changed",
        "changed",
        "generation_changed",
        "labels_changed",
    ),
    "myrmidon.runtime.manager": ("Manager",),
    "myrmidon.runtime.options": ("ManagerOptions",),
    "myrmidon.runtime.webhooks.options": ("WebhookOptions",),
    "myrmidon.sets.outputs.options": ("ApplyOptions",),
    "myrmidon.sets.outputs.output_set": ("OutputSet",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "kinds":
        return import_module("myrmidon.api.objects.kinds")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


__all__ = [
    "Admission",
    "AdmissionContext",
    "AdmissionRequest",
    "ApplyOptions",
    "Cause",
    "Channel",
    "ClaimController",
    "Column",
    "Condition",
    "ConditionValue",
    "Context",
    "Controller",
    "ControllerOptions",
    "Done",
    "External",
    "ExternalRefusedError",
    "ExternalStatus",
    "Failed",
    "Fork",
    "Immutable",
    "Index",
    "Kind",
    "Lookup",
    "Manager",
    "ManagerOptions",
    "Manages",
    "Model",
    "MyrmidonError",
    "ObjectRef",
    "OutputSet",
    "Permission",
    "Predicate",
    "Reads",
    "Resource",
    "Result",
    "Rollout",
    "Rule",
    "Scale",
    "Status",
    "Unstructured",
    "Wait",
    "Watch",
    "WebhookOptions",
    "adopt_by_selector",
    "annotations_changed",
    "changed",
    "defaults",
    "delete_children_foreground",
    "delete_children_in_reverse",
    "exists",
    "generation_changed",
    "has_condition",
    "hashed_name",
    "kinds",
    "labels_changed",
    "one_of",
    "revised",
    "rolling",
    "state",
    "validates",
    "when_children_ready",
]

"""Kubernetes controllers declared as state machines.

Layout, lowest layer first; a package imports only from packages above it in this list:

    errors     every error, as a tree               pure
    api        names, objects, conditions, types    pure
    patch      merge, compare, tell the difference  pure
    sets       outputs, and the request for each    pure
    fsm        states, results, the walk            pure
    io         client, watches, cache, applicator   network
    apiserver  an API server in the process         for development and tests
    runtime    queue, workers, manager              joins fsm and io
    generate   definitions, roles, pictures         pure
    testing    harness, virtual time                for tests
    cli        the command ``myrmidon``

This file gathers the names that the author of a controller needs; everything else is imported from
its own package.  What talks to a cluster (``Manager``) is loaded when it is first asked for, so that
declaring and testing a machine costs no network stack.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from myrmidon.api import ConditionValue, Kind, Model, Resource, Status, kinds
from myrmidon.fsm import (
    Channel,
    ClaimController,
    Context,
    Controller,
    ControllerOptions,
    Done,
    Failed,
    Predicate,
    Result,
    Wait,
    Watch,
    annotations_changed,
    changed,
    delete_children_foreground,
    generation_changed,
    hashed_name,
    labels_changed,
    state,
    when_children_ready,
)
from myrmidon.sets import ApplyOptions, OutputSet

if TYPE_CHECKING:  # the one such block: it gives users the types of what is loaded lazily
    from myrmidon.runtime import Manager, ManagerOptions

__all__ = [
    "ApplyOptions",
    "Channel",
    "ClaimController",
    "ConditionValue",
    "Context",
    "Controller",
    "ControllerOptions",
    "Done",
    "Failed",
    "Kind",
    "Manager",
    "ManagerOptions",
    "Model",
    "OutputSet",
    "Predicate",
    "Resource",
    "Result",
    "Status",
    "Wait",
    "Watch",
    "annotations_changed",
    "changed",
    "delete_children_foreground",
    "generation_changed",
    "hashed_name",
    "kinds",
    "labels_changed",
    "state",
    "when_children_ready",
]

_LAZY = {"Manager": "myrmidon.runtime", "ManagerOptions": "myrmidon.runtime"}

if not TYPE_CHECKING:  # for a type checker it would make every name an attribute of this package

    def __getattr__(name: str) -> Any:
        """Load what talks to a cluster when it is first asked for (PEP 562)."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value
        return value

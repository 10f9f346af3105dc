"""Crew: whom the passes of one controller work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.fsm.controller import Controller
from myrmidon.io.applicator import Applicator
from myrmidon.io.client import Client
from myrmidon.runtime.context import Objects
from myrmidon.runtime.observing import Observing


@dataclass(slots=True)
class Crew:
    """Whom a pass works with.  One per controller, shared by all its passes."""

    controller: Controller[Any]
    client: Client
    applicator: Applicator
    objects: Objects
    clock: Clock
    observing: Observing
    record_event: Callable[[Json, str, str, str], None]
    settled: dict[ObjectRef, tuple[str, str]] = field(default_factory=dict)
    """A status that the server took and stored otherwise, and the version it left."""

    def forget(self, ref: ObjectRef) -> None:
        """An object is gone: remember nothing about it."""
        self.observing.forget(ref)
        self.settled.pop(ref, None)

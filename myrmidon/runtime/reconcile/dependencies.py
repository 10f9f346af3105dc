"""PassDependencies: whom the passes of one controller work with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects import Json
from myrmidon.api.refs import ObjectRef
from myrmidon.fsm.controller import Controller
from myrmidon.io.applicator import Applicator
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.runtime.cluster_view import ClusterView
from myrmidon.runtime.metrics.controller import Observing


@dataclass(slots=True)
class PassDependencies:
    """Whom a pass works with.  One per controller, shared by all its passes."""

    controller: Controller[Any]
    client: Client
    applicator: Applicator
    objects: ClusterView
    clock: Clock
    observing: Observing
    record_event: Callable[[Json, str, str, str], None]
    discovery: Discovery
    settled: dict[ObjectRef, tuple[str, str]] = field(default_factory=dict)
    """Per object: the last status patch that the server accepted but stored differently (for
    example pruned), and the resourceVersion it produced; it is not sent again for that version."""
    unsure: dict[ObjectRef, dict[ObjectRef, None]] = field(default_factory=dict)
    """Per object: outputs whose write got no clear answer, so that they may exist unrecorded."""
    strangers: dict[ObjectRef, dict[str, None]] = field(default_factory=dict)
    """Per object: uids of children that name it as their parent but that another party made."""
    foreign_conditions: dict[ObjectRef, dict[str, None]] = field(default_factory=dict)
    """Per object: types of conditions that no state declares and that other parties wrote."""

    def forget(self, ref: ObjectRef) -> None:
        """An object is gone: remember nothing about it."""
        self.observing.forget(ref)
        for memory in (self.settled, self.unsure, self.strangers, self.foreign_conditions):
            memory.pop(ref, None)

"""StatusHome: where a controller keeps the conditions and the record of children of an object.

The status of a kind that this program defines is ours, so both are there.  The status of a built-in
kind or of another project's kind belongs to another controller: fields that it does not know would
be dropped, or would confuse the tools that read them.  ``ControllerOptions.conditions`` says what to
do instead:

==============  ======================================  ==========================================
``conditions``  conditions                              record of children (``resourceRefs``)
==============  ======================================  ==========================================
"status"        ``status.conditions``                   ``status.resourceRefs``; in the annotation
                                                        if the status is not ours, or is shared
                                                        with another controller of this program
"annotation"    annotation                              annotation
"off"           nowhere                                 annotation, children without owner only
==============  ======================================  ==========================================

The annotation is ``status.myrmidon.dev/<controller>``; each controller has its own, so none can
overwrite another's.  Its value has the fields of a status.  Where only children without an owner
reference are recorded, the others are found through their owner reference when they have to be
pruned; a kind that left ``manages`` since is then left to the garbage collector.

The functions of ``fsm.status.status`` read ``obj["status"]``.  ``StatusPlace.seen`` returns the object as they
should see it, so that they need not know where the status is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of, status_fields, uid_of
from myrmidon.api.objects.managed_fields import field_manager
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.options import ConditionsIn
from myrmidon.fsm.status.status import changes_of, status_request
from myrmidon.fsm.status.status_edits import status_edits
from myrmidon.patch.merge_patch import merge

STATUS_ANNOTATION = "status.myrmidon.dev"
_PATH = "/metadata/annotations"


class StatusPlace:
    """``status``, the part of an object that this class reads and writes."""

    def seen(self, obj: Json) -> Json:
        """Return the object with this place as its status."""
        return obj

    def request(self, ref: ObjectRef, obj: Json, status: Json) -> Request | None:
        """Return the first attempt at writing the fields that differ; None if none does."""
        return status_request(ref, obj, status)

    def edits(self, ref: ObjectRef, obj: Json, status: Json) -> Request | None:
        """Return the attempt after a conflict; None if no field differs."""
        return status_edits(ref, obj, status)


class Annotation(StatusPlace):
    """One annotation of the object, whose value is a status as JSON.

    No other writer has a part in it, so one JSON patch that tests the old value is enough.  It
    carries no resourceVersion: other changes of the object do not matter.
    """

    def __init__(self, controller: str) -> None:
        self.key = annotation_of(controller)

    def seen(self, obj: Json) -> Json:
        """Return the object with the content of the annotation as its status."""
        return {**obj, "status": status_in(obj, self.key)}

    def request(self, ref: ObjectRef, obj: Json, status: Json) -> Request | None:
        """Return the JSON patch of the annotation; None if no field differs."""
        seen = self.seen(obj)
        changes = changes_of(seen, status)
        if not changes:
            return None
        kept = merge(seen["status"], changes)
        wanted = {name: value for name, value in kept.items() if value != []}
        operations = [_test("/metadata/uid", uid_of(obj)), *self._operations(obj, wanted)]
        return Request(Verb.PATCH, ref, operations, patch=Patch.JSON)

    edits = request

    def _operations(self, obj: Json, wanted: Json) -> list[Json]:
        text = orjson.dumps(wanted).decode() if wanted else None
        present = annotations_of(obj)
        if not present:  # a missing map passes the test against null
            return [_test(_PATH, None), _add(_PATH, {self.key: text})]
        path = f"{_PATH}/{self.key.replace('/', '~1')}"
        test = _test(path, present.get(self.key))
        return [test, _add(path, text) if text is not None else {"op": "remove", "path": path}]


@dataclass(frozen=True, slots=True)
class StatusHome:
    """The places in which one controller keeps the conditions and the record of children."""

    where: ConditionsIn
    conditions: StatusPlace | None
    records: StatusPlace
    shows_generation: bool = True
    """Whether conditions carry ``observedGeneration``, which those of built-in kinds do not have."""

    records_all: bool = field(init=False)
    """Whether every child is recorded, beside the conditions, in the same request."""
    is_plain: bool = field(init=False)
    """Whether everything is in the status, so that ``seen`` and ``fitting`` need not be called.
    Every pass asks."""

    def __post_init__(self) -> None:
        records_all = self.conditions is self.records
        is_plain = self.where == "status" and records_all and self.shows_generation
        object.__setattr__(self, "records_all", records_all)
        object.__setattr__(self, "is_plain", is_plain)

    def seen(self, obj: Json) -> Json:
        """Return the object with our conditions in its status; with none if they are off."""
        return {**obj, "status": {}} if self.conditions is None else self.conditions.seen(obj)

    def fitting(self, status: Json, own: frozenset[str]) -> Json:
        """Return the status without the fields that do not belong into this place."""
        if self.records_all and self.shows_generation:
            return status
        made: Json = {"conditions": status["conditions"]}
        if not self.shows_generation:
            made["conditions"] = [_without_generation(one, own) for one in made["conditions"]]
        return made


def home_of(controller: Controller[Any], *, shared: bool = False) -> StatusHome:
    """Return where a controller keeps its conditions and records.

    ``shared``: another controller of this program records its children in the same status.
    """
    where = conditions_in_of(controller)
    annotation = Annotation(controller.name)
    if where == "annotation":
        return StatusHome(where, annotation, annotation)
    if where == "off":
        return StatusHome(where, None, annotation)
    status = StatusPlace()
    ours = is_defined_here(controller.resource)
    return StatusHome(
        where,
        status,
        status if ours and not shared else annotation,
        shows_generation=controller.kind() not in kinds.ALL,
    )


def conditions_in_of(controller: Controller[Any] | type[Controller[Any]]) -> ConditionsIn:
    """Return ``ControllerOptions.conditions``, or its default for the controller's kind."""
    default: ConditionsIn = "status" if is_defined_here(controller.resource) else "off"
    return controller.options.conditions or default


def annotation_of(controller: str) -> str:
    """Return the name of the annotation in which a controller keeps conditions or records."""
    return f"{STATUS_ANNOTATION}/{field_manager(controller)}"


def status_in(obj: Mapping[str, Any], annotation: str) -> Json:
    """Return the status in an annotation; ``{}`` if there is none or it is not one."""
    text = annotations_of(obj).get(annotation)
    try:
        found = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def statuses_of(obj: Json) -> dict[str, Json]:
    """Return every status that controllers of ours may have written: by annotation, "" for status."""
    found = {"": dict(status_fields(obj))}
    prefix = f"{STATUS_ANNOTATION}/"
    named = [name for name in annotations_of(obj) if name.startswith(prefix)]
    return found | {name.removeprefix(prefix): status_in(obj, name) for name in named}


def _without_generation(condition: Any, own: frozenset[str]) -> Any:
    if not isinstance(condition, dict) or condition.get("type") not in own:
        return condition
    return {name: value for name, value in condition.items() if name != "observedGeneration"}


def _test(path: str, value: Any) -> Json:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}

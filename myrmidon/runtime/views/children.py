"""Which objects an object manages, and how to recognise its children.

A child names its parent by a controller owner reference or, if it cannot have one, by the label
``PARENT_UID``.  The parent lists its children in ``status.resourceRefs``, or in an annotation if
its status is not ours (``fsm.status.status_home``).  During a pass,
``Managed`` combines that list with what the pass applied, found and deleted; the result becomes the
new list.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    controller_of,
    status_fields,
)
from myrmidon.api.objects.managed_fields import wrote
from myrmidon.api.objects.refs import Kind, ObjectRef, kinds_by_name, split_api_version
from myrmidon.fsm.status.status import managed_after, reference
from myrmidon.fsm.status.status_home import StatusPlace
from myrmidon.sets.ownership.owner_references import parent_uid
from myrmidon.sets.planning import APPLIED

_STATUS = StatusPlace()


class Managed:
    """The objects that one object manages, in the course of its pass."""

    __slots__ = (
        "_as_applied",
        "_kinds",
        "_own",
        "_place",
        "_recorded",
        "_recorded_by",
        "applied",
        "found",
        "gone",
    )

    def __init__(
        self,
        kinds: tuple[Kind, ...],
        own: ObjectRef | None = None,
        place: StatusPlace = _STATUS,
    ) -> None:
        self._kinds, self._own, self._place = kinds, own, place
        self._recorded_by: Json | None = None
        self._recorded: list[ObjectRef] = []
        self._as_applied = False  # whether the record was exactly ``applied`` when it was read
        self.applied: dict[ObjectRef, None] = {}
        """The objects that the pass applied, in order."""
        self.found: dict[ObjectRef, None] = {}
        """Children that exist although the status does not record them."""
        self.gone: dict[ObjectRef, None] = {}
        """Recorded objects that no longer exist."""

    def recorded(self, obj: Json) -> list[ObjectRef]:
        """Return the objects in ``resourceRefs``, without the object itself."""
        if self._recorded_by is not obj:
            self._recorded = self._read(obj)
            self._recorded_by = obj
        return self._recorded

    def unwanted(self, obj: Json) -> list[ObjectRef]:
        """Return the recorded objects that the pass did not apply."""
        applied = self.applied
        return [ref for ref in self.recorded(obj) if ref not in applied]

    def by_now(self, obj: Json) -> tuple[ObjectRef, ...]:
        """Return all objects that the object manages now, for ``status.resourceRefs``."""
        return managed_after((*self.recorded(obj), *self.found), self.applied, self.gone)

    def to_record(self, obj: Json) -> tuple[ObjectRef, ...] | None:
        """Return ``by_now`` if ``resourceRefs`` must be written, None if it is right as it is."""
        recorded = self.recorded(obj)
        same = self._as_applied and len(self.applied) == len(recorded)  # ``applied`` only grows
        if same and not self.found and not self.gone:
            return None
        return self.by_now(obj)

    def still_recorded(self, obj: Json) -> tuple[ObjectRef, ...]:
        """Return the recorded objects that still exist, for a record of tracked children only."""
        return managed_after(self.recorded(obj), (), self.gone)

    def _read(self, obj: Json) -> list[ObjectRef]:
        seen = self._place.seen(obj)
        listed = status_fields(seen).get("resourceRefs")
        if not listed:
            self._as_applied = not self.applied
            return []
        self._as_applied = listed == [reference(ref) for ref in self.applied]
        if self._as_applied:  # in every converged pass
            return list(self.applied)
        found = recorded(seen, self._kinds)
        own = self._own.name if self._own else ""
        return [ref for ref in found if ref.name != own or not self._is_own(ref)]

    def _is_own(self, ref: ObjectRef) -> bool:
        own = self._own
        # Compares without the plural: a kind that is not declared is recorded without one.
        return own is not None and ref[1:] == own[1:] and ref.kind[:3] == own.kind[:3]


def recorded(obj: Json, kinds: tuple[Kind, ...]) -> list[ObjectRef]:
    """Return the references in ``status.resourceRefs``; entries without a name are ignored."""
    entries = status_fields(obj).get("resourceRefs")
    if not isinstance(entries, list):
        return []
    found: list[ObjectRef] = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name"):
            named = str(entry.get("apiVersion")), str(entry.get("kind"))
            known = kinds_by_name(kinds, str(entry.get("cluster") or ""))
            kind = known.get(named) or _undeclared(entry)
            found.append(ObjectRef(kind, str(entry["name"]), str(entry.get("namespace") or "")))
    return found


def by_parent(child: Mapping[str, Any]) -> list[str]:
    """Return the values of the cache index that finds children by the uid of their parent."""
    uid = parent_uid(child)
    return [uid] if uid else []


def is_child(child: Json | None, uid: str) -> bool:
    """Whether an object exists and names the parent with that uid."""
    return child is not None and parent_uid(child) == uid


def is_made_by(child: Json, controller: str) -> bool:
    """Whether a controller of that name wrote the object.

    True if a state of the controller left its fingerprint annotation on the object, or the
    controller is one of its field managers.  Only a live read has ``managedFields``: caches do not
    keep them.
    """
    prefix = f"{APPLIED}/{controller}."
    return any(key.startswith(prefix) for key in annotations_of(child)) or wrote(child, controller)


def is_tracked_child(child: Json | None, uid: str) -> bool:
    """Whether only a label names the parent: the garbage collector will not delete such a child."""
    return child is not None and controller_of(child) is None and is_child(child, uid)


def _undeclared(entry: Json) -> Kind:
    """Return a kind that ``manages`` does not list, without its plural, which discovery finds."""
    group, version = split_api_version(str(entry.get("apiVersion") or "v1"))
    cluster, namespaced = str(entry.get("cluster") or ""), bool(entry.get("namespace"))
    return Kind(group, version, str(entry.get("kind")), "", namespaced, cluster)

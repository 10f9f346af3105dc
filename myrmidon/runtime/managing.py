"""What an object manages: as its own status records it, and as its pass leaves it."""

from myrmidon.api.objects import Json, controller_of, labels_of
from myrmidon.api.refs import Kind, ObjectRef, kinds_by_name, split_api_version
from myrmidon.fsm.status import managed_after
from myrmidon.sets.ownership import PARENT_UID


class Managed:
    """What one object manages, from the beginning of its pass to the end."""

    __slots__ = ("_kinds", "_recorded", "_recorded_by", "applied", "gone")

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self._kinds = kinds
        self._recorded_by: Json | None = None
        self._recorded: list[ObjectRef] = []
        self.applied: dict[ObjectRef, None] = {}
        """What the pass applied, in order."""
        self.gone: dict[ObjectRef, None] = {}
        """What the pass found gone."""

    def recorded(self, obj: Json) -> list[ObjectRef]:
        """What the object says that it manages."""
        if self._recorded_by is not obj:
            self._recorded_by, self._recorded = obj, recorded(obj, self._kinds)
        return self._recorded

    def unwanted(self, obj: Json) -> list[ObjectRef]:
        """What the object says that it manages, and the pass did not apply."""
        applied = self.applied
        return [ref for ref in self.recorded(obj) if ref.kind.plural and ref not in applied]

    def by_now(self, obj: Json) -> tuple[ObjectRef, ...]:
        """All that the object manages now."""
        return managed_after(self.recorded(obj), self.applied, self.gone)


def recorded(obj: Json, kinds: tuple[Kind, ...]) -> list[ObjectRef]:
    """What ``status.resourceRefs`` lists; entries that name nothing are nobody's children."""
    entries = (obj.get("status") or {}).get("resourceRefs")
    if not isinstance(entries, list):
        return []
    known = kinds_by_name(kinds)
    found: list[ObjectRef] = []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name"):
            named = str(entry.get("apiVersion")), str(entry.get("kind"))
            kind = known.get(named) or _undeclared(entry)
            found.append(ObjectRef(kind, str(entry["name"]), str(entry.get("namespace") or "")))
    return found


def is_child(child: Json | None, parent_uid: str) -> bool:
    """Whether an object says that this parent controls it, by owner reference or by label."""
    if child is None:
        return False
    owner = controller_of(child)
    marked = labels_of(child).get(PARENT_UID) if owner is None else owner.get("uid")
    return marked == parent_uid


def is_tracked_child(child: Json | None, parent_uid: str) -> bool:
    """Whether only the label says so: then no garbage collector will delete it."""
    return child is not None and controller_of(child) is None and is_child(child, parent_uid)


def _undeclared(entry: Json) -> Kind:
    """A kind that this controller no longer declares: kept on record, never touched."""
    group, version = split_api_version(str(entry.get("apiVersion") or "v1"))
    return Kind(group, version, str(entry.get("kind")), "", namespaced=bool(entry.get("namespace")))

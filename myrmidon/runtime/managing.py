"""What an object manages, as its own status records it."""

from myrmidon.api.objects import Json, controller_of, labels_of
from myrmidon.api.refs import Kind, ObjectRef, kinds_by_name, split_api_version
from myrmidon.sets.ownership import PARENT_UID


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

"""Accessors for plain JSON objects as the server sends them.

Every function takes an object that may lack any field, because objects come from users, from
other versions of this program and from servers that we do not control.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.refs import Kind, ObjectRef

Json: TypeAlias = dict[str, Any]


def metadata(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata; empty if there is none."""
    return obj.get("metadata") or {}


# These do not call each other: a pass calls them dozens of times, and nesting doubles the cost.


def name_of(obj: Mapping[str, Any]) -> str:
    """``metadata.name``."""
    return str((obj.get("metadata") or {}).get("name") or "")


def namespace_of(obj: Mapping[str, Any]) -> str:
    """``metadata.namespace``, ``""`` for cluster-scoped objects."""
    return str((obj.get("metadata") or {}).get("namespace") or "")


def uid_of(obj: Mapping[str, Any]) -> str:
    """``metadata.uid``, ``""`` for an object that no server has seen."""
    return str((obj.get("metadata") or {}).get("uid") or "")


def version_of(obj: Mapping[str, Any]) -> str:
    """``metadata.resourceVersion``, ``""`` for an object that no server has seen."""
    return str((obj.get("metadata") or {}).get("resourceVersion") or "")


def generation_of(obj: Mapping[str, Any]) -> int:
    """``metadata.generation``, 0 for kinds that have none."""
    generation = (obj.get("metadata") or {}).get("generation")
    return generation if type(generation) is int else 0


def labels_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """``metadata.labels``."""
    return (obj.get("metadata") or {}).get("labels") or {}


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """``metadata.annotations``."""
    return (obj.get("metadata") or {}).get("annotations") or {}


def owners_of(obj: Mapping[str, Any]) -> list[Json]:
    """``metadata.ownerReferences``."""
    return (obj.get("metadata") or {}).get("ownerReferences") or []


def controller_of(obj: Mapping[str, Any]) -> Json | None:
    """Return the owner reference with ``controller: true``; None if there is none."""
    for owner in owners_of(obj):
        if owner.get("controller"):
            return owner
    return None


def is_controlled_by(obj: Mapping[str, Any], uid: str) -> bool:
    """Whether the owner reference with ``controller: true`` names the owner with that uid."""
    for owner in (obj.get("metadata") or {}).get("ownerReferences") or ():
        if owner.get("controller"):
            return bool(owner.get("uid") == uid)
    return False


def finalizers_of(obj: Mapping[str, Any]) -> list[str]:
    """``metadata.finalizers``."""
    return (obj.get("metadata") or {}).get("finalizers") or []


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether the object is being deleted: it exists only until its finalizers are removed."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def status_fields(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status; empty if there is none or it is not a map."""
    status = obj.get("status")
    return status if isinstance(status, dict) else {}


def conditions_in(obj: Mapping[str, Any]) -> list[Any]:
    """Return ``status.conditions``; empty if it is not a list.  Entries can be of any type."""
    try:
        listed = obj["status"]["conditions"]
    except (KeyError, TypeError):  # TypeError: the status is not a map
        return []
    return listed if type(listed) is list else []


def ref_of(kind: Kind, obj: Mapping[str, Any]) -> ObjectRef:
    """Return the reference of an object of the given kind."""
    meta = metadata(obj)
    namespace = str(meta.get("namespace") or "") if kind.namespaced else ""
    return ObjectRef(kind, str(meta.get("name") or ""), namespace)


def describe(obj: Mapping[str, Any]) -> str:
    """Return kind, namespace and name, as far as the object has them: ``ConfigMap default/a``."""
    meta = obj.get("metadata")
    named = (meta.get("namespace"), meta.get("name")) if isinstance(meta, Mapping) else ()
    where = "/".join(str(part) for part in named if part)
    return f"{obj.get('kind') or 'object'} {where or '(no name)'}"

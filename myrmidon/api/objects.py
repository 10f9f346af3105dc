"""Plain JSON objects as the server sends them: small questions, asked in one place.

Every function takes an object that may lack any field, because objects come from users, from
other versions of this program and from servers that we do not control.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from myrmidon.api.refs import Kind, ObjectRef

Json: TypeAlias = dict[str, Any]


def metadata(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata, empty where there is none."""
    return obj.get("metadata") or {}


# Each of these looks for itself: a pass asks dozens of times, and a call more would double the cost.


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
    """The owner reference of the one controller that owns the object, if any."""
    for owner in owners_of(obj):
        if owner.get("controller"):
            return owner
    return None


def finalizers_of(obj: Mapping[str, Any]) -> list[str]:
    """``metadata.finalizers``."""
    return (obj.get("metadata") or {}).get("finalizers") or []


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether somebody asked for the deletion of the object and finalizers still hold it."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def ref_of(kind: Kind, obj: Mapping[str, Any]) -> ObjectRef:
    """The reference of an object whose kind is known."""
    meta = metadata(obj)
    namespace = str(meta.get("namespace") or "") if kind.namespaced else ""
    return ObjectRef(kind, str(meta.get("name") or ""), namespace)


def describe(obj: Mapping[str, Any]) -> str:
    """``ConfigMap default/a``, as far as the object says so."""
    where = "/".join(part for part in (namespace_of(obj), name_of(obj)) if part)
    return f"{obj.get('kind') or 'object'} {where or '(no name)'}"

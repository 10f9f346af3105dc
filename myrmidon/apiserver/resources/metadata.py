"""``metadata``: reading it from a body, and the rules that hold for the objects of every kind."""

import re
from collections.abc import Callable
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver import names
from myrmidon.apiserver.causes import IMMUTABLE, forbidden, invalid, required, too_long
from myrmidon.apiserver.failures import StatusCause
from myrmidon.apiserver.resources.strategy import DecodeError

ANNOTATIONS_BYTES_MAX = 256 * 1024
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:\d\d)")
_GO_TYPES = {
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


# ------------------------------------------------------------------------- reading


def decode_metadata(value: Any, path: str = "metadata") -> tuple[Json, list[str]]:
    """Read metadata as Go's decoder would: typed, without empty values; and unknown fields."""
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise _mismatch(value, "metadata", "v1.ObjectMeta")
    decoded: Json = {}
    unknown: list[str] = []
    for key, item in value.items():
        read = _READERS.get(key)
        if read is None:
            unknown.append(f"{path}.{key}")
        elif item is not None:
            found = read(key, item)
            # An empty list of managedFields is an order to clear them.
            if found or key == "managedFields":
                decoded[key] = found
    return decoded, unknown


def _mismatch(value: Any, key: str, go_type: str) -> DecodeError:
    found = _GO_TYPES.get(type(value), "null")
    where = f"ObjectMeta.{key}" if key != "metadata" else "Object.metadata"
    return DecodeError(
        f"json: cannot unmarshal {found} into Go struct field {where} of type {go_type}"
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch(value, key, "string")
    return value


def _integer(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _mismatch(value, key, "int64")
    return value


def _grace(key: str, value: Any) -> Any:
    # Zero is a value here: Go keeps a pointer.
    return _Kept(_integer(key, value))


class _Kept(int):
    """An integer that counts as present even when it is zero."""

    def __bool__(self) -> bool:
        return True


def _time(key: str, value: Any) -> str:
    text = _text(key, value)
    if not _TIME.fullmatch(text):
        raise DecodeError(
            f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"'
        )
    return text


def _text_map(key: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _mismatch(value, key, "map[string]string")
    for item in value.values():
        if item is not None and not isinstance(item, str):
            raise _mismatch(item, key, "string")
    return {name: item or "" for name, item in value.items()}


def _text_list(key: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise _mismatch(value, key, "[]string")
    for item in value:
        if item is not None and not isinstance(item, str):
            raise _mismatch(item, key, "string")
    return [item or "" for item in value]


_OWNER_FIELDS: dict[str, type] = {
    "apiVersion": str,
    "kind": str,
    "name": str,
    "uid": str,
    "controller": bool,
    "blockOwnerDeletion": bool,
}


def _owners(key: str, value: Any) -> list[Json]:
    if not isinstance(value, list):
        raise _mismatch(value, key, "[]v1.OwnerReference")
    return [_owner(key, item) for item in value]


def _owner(key: str, value: Any) -> Json:
    owner: Json = {"apiVersion": "", "kind": "", "name": "", "uid": ""}
    if value is None:
        return owner
    if not isinstance(value, dict):
        raise _mismatch(value, key, "v1.OwnerReference")
    for field, wanted in _OWNER_FIELDS.items():
        item = value.get(field)
        if item is None:
            continue
        if type(item) is not wanted:
            raise _mismatch(item, f"{key}.{field}", "string" if wanted is str else "bool")
        owner[field] = item
    return owner


def _entries(key: str, value: Any) -> list[Json]:
    if not isinstance(value, list):
        raise _mismatch(value, key, "[]v1.ManagedFieldsEntry")
    for item in value:
        if item is not None and not isinstance(item, dict):
            raise _mismatch(item, key, "v1.ManagedFieldsEntry")
    return [item or {} for item in value]


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "name": _text,
    "generateName": _text,
    "namespace": _text,
    "selfLink": _text,
    "uid": _text,
    "resourceVersion": _text,
    "generation": _integer,
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _grace,
    "labels": _text_map,
    "annotations": _text_map,
    "ownerReferences": _owners,
    "finalizers": _text_list,
    "managedFields": _entries,
}


# ------------------------------------------------------------------------- rules


def validate_metadata(
    meta: Json, name_problems: Callable[..., list[str]], *, namespaced: bool
) -> list[StatusCause]:
    """What is wrong with the metadata of any object."""
    causes: list[StatusCause] = []
    prefix = meta.get("generateName", "")
    if prefix:
        causes += [
            invalid("metadata.generateName", prefix, problem)
            for problem in name_problems(prefix, prefix=True)
        ]
    name = meta.get("name", "")
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += [invalid("metadata.name", name, problem) for problem in name_problems(name)]
    if namespaced and not meta.get("namespace"):
        causes.append(required("metadata.namespace"))
    return causes + validate_contents(meta)


def validate_contents(meta: Json) -> list[StatusCause]:
    """Labels, annotations, owners and finalizers by themselves."""
    causes: list[StatusCause] = []
    if "labels" in meta:
        causes += _labels(meta["labels"], "metadata.labels")
    if "annotations" in meta:
        causes += _annotations(meta["annotations"], "metadata.annotations")
    if "ownerReferences" in meta:
        causes += _owner_causes(meta["ownerReferences"])
    if "finalizers" in meta:
        causes += _finalizers(meta["finalizers"])
    return causes


def validate_metadata_update(new: Json, old: Json) -> list[StatusCause]:
    """What of the metadata may not change."""
    causes: list[StatusCause] = []
    if old.get("deletionTimestamp"):
        added = [
            name for name in new.get("finalizers", ()) if name not in old.get("finalizers", ())
        ]
        if added:
            causes.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new "
                    f"finalizers []string{{{', '.join(_quoted(name) for name in added)}}}",
                )
            )
    for field in (
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ):
        if new.get(field) != old.get(field):
            shown = new.get(field, "" if field in {"name", "namespace", "uid"} else None)
            causes.append(invalid(f"metadata.{field}", shown, IMMUTABLE))
    return causes + validate_contents(new)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _labels(labels: dict[str, str], field: str) -> list[StatusCause]:
    causes: list[StatusCause] = []
    for key, value in labels.items():
        causes += [invalid(field, key, problem) for problem in names.qualified_problems(key)]
        causes += [invalid(field, value, problem) for problem in names.label_value_problems(value)]
    return causes


def _annotations(annotations: dict[str, str], field: str) -> list[StatusCause]:
    causes: list[StatusCause] = []
    size = 0
    for key, value in annotations.items():
        causes += [
            invalid(field, key, problem) for problem in names.qualified_problems(key.lower())
        ]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_BYTES_MAX:
        causes.append(too_long(field, ANNOTATIONS_BYTES_MAX))
    return causes


def _owner_causes(owners: list[Json]) -> list[StatusCause]:
    causes: list[StatusCause] = []
    field = "metadata.ownerReferences"
    for owner in owners:
        group, _, version = owner["apiVersion"].rpartition("/")
        if not version:
            api_version = owner["apiVersion"]
            causes.append(invalid(f"{field}.apiVersion", api_version, "version must not be empty"))
        causes += [
            invalid(f"{field}.{name}", owner[name], "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner[name]
        ]
        if (group, version, owner["kind"]) == ("", "v1", "Event"):
            problem = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(invalid(field, owner, problem))
    controllers = [owner["name"] for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        problem = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            + " and ".join(controllers)
        )
        causes.append(invalid(field, owners, problem))
    return causes


def _finalizers(finalizers: list[str]) -> list[StatusCause]:
    field = "metadata.finalizers"
    causes = [
        invalid(field, name, problem)
        for name in finalizers
        for problem in names.qualified_problems(name)
    ]
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        problem = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        causes.append(invalid(field, finalizers, problem))
    return causes


def finalizer_warnings(meta: Json, old: Json | None) -> list[str]:
    """Advice about new finalizers without a domain or a path."""
    known = (old or {}).get("finalizers", ())
    added = sorted({name for name in meta.get("finalizers", ()) if name not in known})
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name'
        f"{' including a path (/)' if '.' in name else ''} to avoid accidental conflicts with other "
        "finalizer writers"
        for name in added
        if "/" not in name and name not in {ORPHAN, FOREGROUND, "kubernetes"}
    ]


def drop_duplicate_owners(meta: Json, *, admitted: bool = False) -> list[str]:
    """Keep one of each owner reference; the warning names those dropped."""
    owners = meta.get("ownerReferences")
    if not owners or len(owners) == 1:
        return []
    kept: list[Json] = []
    dropped: dict[str, None] = {}
    for owner in owners:
        if owner in kept:
            dropped[owner["uid"]] = None
        else:
            kept.append(owner)
    if not dropped:
        return []
    meta["ownerReferences"] = kept
    when = " after mutating admission happens" if admitted else ""
    warning = (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
        f"requests; duplicate UID(s) observed: {', '.join(dropped)}"
    )
    return [warning]

"""Validation of ``metadata``, the same for objects of every kind."""

from collections.abc import Callable

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import names
from myrmidon.apiserver.refusals.causes import IMMUTABLE, forbidden, invalid, required, too_long
from myrmidon.apiserver.refusals.failures import StatusCause

ANNOTATIONS_BYTES_MAX = 256 * 1024
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


def validate_metadata(
    meta: Json, name_problems: Callable[..., list[str]], *, namespaced: bool
) -> list[StatusCause]:
    """Return the problems in the metadata of a new object."""
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
    """Return the problems in labels, annotations, owner references and finalizers."""
    causes: list[StatusCause] = []
    if "labels" in meta:
        causes += label_causes(meta["labels"], "metadata.labels")
    if "annotations" in meta:
        causes += annotation_causes(meta["annotations"], "metadata.annotations")
    if "ownerReferences" in meta:
        causes += _owner_causes(meta["ownerReferences"])
    if "finalizers" in meta:
        causes += _finalizers(meta["finalizers"])
    return causes


def validate_metadata_update(new: Json, old: Json) -> list[StatusCause]:
    """Return the problems in the metadata of an update, including changes of immutable fields."""
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


def label_causes(labels: dict[str, str], field: str) -> list[StatusCause]:
    """Return the problems of labels."""
    causes: list[StatusCause] = []
    for key, value in labels.items():
        causes += [invalid(field, key, problem) for problem in names.qualified_problems(key)]
        causes += [invalid(field, value, problem) for problem in names.label_value_problems(value)]
    return causes


def annotation_causes(annotations: dict[str, str], field: str) -> list[StatusCause]:
    """Return the problems of annotations."""
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
    """Return warnings for new finalizers without a domain or a path."""
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
    """Remove duplicate owner references; return a warning that lists their uids."""
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

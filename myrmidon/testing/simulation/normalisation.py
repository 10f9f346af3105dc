"""Normalisation: the objects of a world without what differs between any two runs.

- Uids become names of objects, times become ``<time>``, versions and managedFields are dropped.
- Generations become relations: ``observedGeneration`` is ``<current>`` or ``<behind>``.  The numbers
  themselves depend on how many edits a controller saw.
- A name that the server generated becomes the role of its object: owner and order of creation.
- What the cluster's own controllers make is left out: the ReplicaSets of a Deployment, which also keep
  its history of edits, its Pods, the Jobs of a CronJob.  The status of their owner says how they are.
- ``Masks`` are the fields that differ between two seeds of the reference.  They are found, not listed
  by hand, and are left out of every comparison.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json, owners_of, uid_of
from myrmidon.testing.simulation.embedded import DRIFT, MARK

_DROPPED = frozenset({
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
})  # fmt: skip
_CHANGING = _DROPPED - {
    "generation"
}  # of an object's metadata; its status refers to the generation
_KNOWN_MAX = 4096
_UNORDERED = frozenset({"conditions", "resourceRefs", "ownerReferences", "finalizers"})
_ALLOCATED = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)")
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEFT_OUT = frozenset({"Lease", "Event", "Namespace", "CustomResourceDefinition", "ServiceAccount"})
_REVISION = "deployment.kubernetes.io/revision"
# Which kinds the controllers of the cluster make, and the kinds that own them.
_MADE_BY_THE_CLUSTER = {
    "ReplicaSet": ("Deployment",),
    "Pod": ("ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"),
    "ControllerRevision": ("StatefulSet", "DaemonSet"),
    "Job": ("CronJob",),
    "EndpointSlice": ("Service", "Endpoints"),
}


@dataclass(slots=True)
class Masks:
    """Fields that are left out of comparisons, by role and path; and whole kinds."""

    paths: set[tuple[str, str]] = field(default_factory=set)
    kinds: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()


def roles_of(objects: Iterable[Json]) -> dict[str, str]:
    """Return the role of each object by uid: kind, namespace and name, or owner and ordinal."""
    found: dict[str, str] = {}
    counted: dict[str, int] = {}
    by_uid = {uid_of(obj): obj for obj in objects}
    # Objects with names of their own first: an owner may come after its children in the list.
    for generated in (False, True):
        for uid, obj in by_uid.items():
            if bool(obj["metadata"].get("generateName")) == generated:
                found[uid] = _role(obj, found, counted)
    return found


def _role(obj: Json, known: Mapping[str, str], counted: dict[str, int]) -> str:
    meta = obj["metadata"]
    where = f"{meta.get('namespace', '')}/" if meta.get("namespace") else ""
    stem = meta.get("generateName")
    if not stem:
        return f"{obj['kind']} {where}{meta['name']}"
    owner = next((known.get(str(one.get("uid"))) for one in owners_of(obj)), None) or ""
    base = f"{obj['kind']} {where}{stem}* of {owner}" if owner else f"{obj['kind']} {where}{stem}*"
    counted[base] = counted.get(base, 0) + 1
    return f"{base} #{counted[base]}"


def normalised(objects: list[Json], masks: Masks) -> dict[str, Json]:
    """Return the objects by role, without what differs between two runs with the same specs.

    The results are shared between runs and must not be changed.
    """
    kept = [obj for obj in objects if obj["kind"] not in _LEFT_OUT and not _is_of_the_cluster(obj)]
    ordered = sorted(kept, key=lambda obj: int(obj["metadata"]["resourceVersion"]))
    ordered.sort(key=lambda obj: obj["metadata"].get("creationTimestamp", ""))
    roles = roles_of(ordered)
    names = {uid: f"<uid of {role}>" for uid, role in roles.items()}
    generated = {
        obj["metadata"]["name"]: roles[uid_of(obj)]
        for obj in ordered
        if obj["metadata"].get("generateName")
    }
    found: dict[str, Json] = {}
    shown = _Names(names, generated)
    told = (tuple(names.items()), tuple(generated.items()))
    for obj in ordered:
        if obj["kind"] in masks.kinds:
            continue
        role = roles[uid_of(obj)]
        dropped = tuple(_paths_to_drop(masks, role)) if masks.paths or masks.ignored else ()
        text = _text_of(obj)
        made = _known.get((text, told, dropped)) if text is not None else None
        if made is None:
            made = _object(obj, shown, dropped)
            if text is not None:
                _keep((text, told, dropped), made)
        found[role] = made
    return found


def _is_of_the_cluster(obj: Json) -> bool:
    makers = _MADE_BY_THE_CLUSTER.get(obj["kind"])
    return makers is not None and any(
        owner.get("controller") and owner.get("kind") in makers for owner in owners_of(obj)
    )


_known: dict[tuple[Any, ...], Json] = {}
"""Normalised objects by everything that they depend on: most runs of a scenario end alike."""


def _keep(key: tuple[Any, ...], made: Json) -> None:
    if len(_known) >= _KNOWN_MAX:
        _known.clear()
    _known[key] = made


def _text_of(obj: Json) -> bytes | None:
    """Return all of an object that normalisation looks at, as JSON; None if orjson cannot write it."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _CHANGING}
    try:
        return orjson.dumps({**obj, "metadata": meta})
    except TypeError:
        return None


@dataclass(slots=True)
class _Names:
    uids: Mapping[str, str]
    generated: Mapping[str, str]


def _object(obj: Json, names: _Names, dropped: Iterable[str]) -> Json:
    generation = obj["metadata"].get("generation")
    made: Json = _value(obj, names, generation)
    labels = made["metadata"].get("labels")
    for key in (MARK, DRIFT):
        if labels:
            labels.pop(key, None)
    if not labels:
        made["metadata"].pop("labels", None)
    annotations = made["metadata"].get("annotations")
    if annotations:
        annotations.pop(_REVISION, None)
    if made.get("kind") == "Service":
        made["spec"] = _without(made.get("spec", {}))
    for path in dropped:
        _drop(made, path)
    return made


def _value(value: Any, names: _Names, generation: Any) -> Any:
    if isinstance(value, dict):
        made: Json = {}
        for key, item in value.items():
            if key in _DROPPED:
                continue
            if key == "observedGeneration":
                made[key] = "<current>" if item == generation else "<behind>"
                continue
            shown = _value(item, names, generation)
            if key in _UNORDERED and isinstance(shown, list):
                shown = sorted(shown, key=repr)
            if shown not in ([], {}):  # an empty list is equal to one that was never written
                made[key] = shown
        return made
    if isinstance(value, list):
        return [_value(item, names, generation) for item in value]
    if isinstance(value, str):
        return _text(value, names)
    return value


def _text(value: str, names: _Names) -> str:
    if value in names.generated:
        return f"<name of {names.generated[value]}>"
    if len(value) >= 20:
        if _TIME.fullmatch(value):
            return "<time>"
        if value.startswith(("{", "[")):
            value = _TIME.sub("<time>", value)
        return _UID.sub(lambda uid: names.uids.get(uid[0], "<uid>"), value)
    return value


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item) for key, item in value.items() if key not in _ALLOCATED}
    if isinstance(value, list):
        return [_without(item) for item in value]
    return value


def _paths_to_drop(masks: Masks, role: str) -> Iterator[str]:
    for wanted, path in sorted(masks.paths):
        if wanted == role:
            yield path
    kind = role.partition(" ")[0]
    for entry in masks.ignored:
        first, _, rest = entry.partition(" ")
        if not rest:
            yield first
        elif first == kind:
            yield rest


def _drop(value: Any, path: str) -> None:
    step, _, rest = path.partition(".")
    if isinstance(value, list) and step.isdigit() and int(step) < len(value):
        if rest:
            _drop(value[int(step)], rest)
        else:
            value[int(step)] = "<masked>"
    elif isinstance(value, dict) and step in value:
        if rest:
            _drop(value[step], rest)
        else:
            del value[step]


def differing_paths(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Return the paths at which two normalised objects differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            below = f"{path}.{key}" if path else str(key)
            if key not in one or key not in other:
                yield below
            else:
                yield from differing_paths(one[key], other[key], below)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differing_paths(left, right, f"{path}.{index}")
    elif one != other:
        yield path

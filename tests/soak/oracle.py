"""Which children must exist, given the parents: written without the code that is being tested.

Everything here is a function from JSON to values.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Json = Mapping[str, Any]
TWINS = {"soak-a": "soak-b", "soak-s": "soak-t"}


class Key(NamedTuple):
    """Where an object is."""

    kind: str
    namespace: str
    name: str


class Child(NamedTuple):
    """What a child must say, and the uid of its owner, "" for a child without an owner."""

    data: Mapping[str, str]
    owner: str


def expected(parents: Iterable[Json]) -> dict[Key, Child]:
    """Return the children that the parents ask for."""
    found: dict[Key, Child] = {}
    for parent in parents:
        kind, meta, spec = parent["kind"], parent["metadata"], parent.get("spec") or {}
        prefix, text = f"{kind.lower()}-{meta['name']}", spec.get("text", "")
        home = meta["namespace"]
        places = [home, TWINS[home]] if kind == "Spread" else [home]
        owner = "" if kind == "Spread" else meta["uid"]
        for place in places:
            for part in spec.get("parts") or ():
                data = {"text": text, "part": part}
                found[Key("ConfigMap", place, f"{prefix}-{part}")] = Child(data, owner)
        if kind == "Team":
            found[Key("Secret", home, prefix)] = Child({"text": text}, owner)
    return found


def actual(objects: Iterable[Json]) -> dict[Key, Child]:
    """Return the children that exist; the text of a Secret is decoded."""
    found: dict[Key, Child] = {}
    for obj in objects:
        meta, data = obj["metadata"], dict(obj.get("data") or {})
        if obj["kind"] == "Secret":
            data = {key: base64.b64decode(value).decode() for key, value in data.items()}
        owners = [each["uid"] for each in meta.get("ownerReferences") or ()]
        key = Key(obj["kind"], meta["namespace"], meta["name"])
        found[key] = Child(data, owners[0] if owners else "")
    return found


def problems(parents: Iterable[Json], objects: Iterable[Json]) -> list[str]:
    """Return one sentence for each parent that is not Ready and each child that is wrong."""
    parents = list(parents)
    found = [line for parent in parents for line in _unready(parent)]
    wanted, there = expected(parents), actual(objects)
    for key in sorted(wanted.keys() | there.keys()):
        name = f"{key.kind} {key.namespace}/{key.name}"
        if key not in there:
            found.append(f"{name} is missing")
        elif key not in wanted:
            found.append(f"{name} is left over (owner {there[key].owner or 'none'})")
        elif there[key] != wanted[key]:
            found.append(f"{name} is {there[key]} instead of {wanted[key]}")
    return found


def _unready(parent: Json) -> list[str]:
    """Return why a parent is not at rest: deleted but not gone, or not Ready as it is now."""
    meta = parent["metadata"]
    name = f"{parent['kind']} {meta['namespace']}/{meta['name']}"
    if "deletionTimestamp" in meta:
        return [f"{name} is deleted and not gone: finalizers {meta.get('finalizers')}"]
    conditions = (parent.get("status") or {}).get("conditions") or ()
    ready = next((one for one in conditions if one["type"] == "Ready"), None)
    if ready is None:
        return [f"{name} has no condition Ready"]
    if ready["status"] != "True" or ready.get("observedGeneration") != meta.get("generation"):
        return [f"{name} (generation {meta.get('generation')}) says {dict(ready)}"]
    return []

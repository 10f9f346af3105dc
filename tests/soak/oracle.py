"""Which children must exist, given the parents; it shares no code with what is tested.

Everything here is a function from JSON to values.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Json = Mapping[str, Any]
TWINS = {"soak-a": "soak-b", "soak-s": "soak-t"}


class Key(NamedTuple):
    """Kind, namespace and name of an object."""

    kind: str
    namespace: str
    name: str


class Child(NamedTuple):
    """The content of a child, and the uid of its owner, "" for a child without an owner."""

    data: Mapping[str, str]
    owner: str


class Problem(NamedTuple):
    """A problem: a sentence, and the objects that it concerns."""

    text: str
    parent: str
    """The uid of the parent that is not Ready, or wants the child, or owns it; "" if it is gone."""
    child: Key | None = None
    """The child that is wrong, missing or left over."""


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


def problems(parents: Iterable[Json], objects: Iterable[Json]) -> list[Problem]:
    """Return one problem for each parent that is not Ready and each child that is wrong."""
    parents = list(parents)
    found = [
        Problem(line, parent["metadata"]["uid"]) for parent in parents for line in _unready(parent)
    ]
    there, wanted, uids = actual(objects), expected(parents), wanting(parents)
    live = {parent["metadata"]["uid"] for parent in parents}
    for key in sorted(wanted.keys() | there.keys()):
        text = _difference(there.get(key), wanted.get(key))
        if text:
            name = f"{key.kind} {key.namespace}/{key.name}"
            owner = there[key].owner if key in there and there[key].owner in live else ""
            found.append(Problem(f"{name} {text}", uids.get(key, owner), key))
    return found


def wanting(parents: Iterable[Json]) -> dict[Key, str]:
    """Return the uid of the parent that asks for each child, also of a child without an owner."""
    return {key: parent["metadata"]["uid"] for parent in parents for key in expected([parent])}


def _difference(there: Child | None, wanted: Child | None) -> str:
    if there is None:
        return "is missing"
    if wanted is None:
        return f"is left over (owner {there.owner or 'none'})"
    return "" if there == wanted else f"is {there} instead of {wanted}"


def _unready(parent: Json) -> list[str]:
    """Return why a parent has not converged: deleted but not gone, or not Ready as it is now."""
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

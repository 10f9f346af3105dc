"""O8 and O9: Ready tells the truth, and observedGeneration never lies.

O9: ``status.observedGeneration`` is never greater than the generation, never decreases, and is equal to it
when the controllers have settled without faults.

O8: whenever a controller reports Ready for the current generation, the children are as the reference
leaves them for the same spec.  ``ReadyWorlds`` holds these children; it learns them when a reference
has settled, and which of their fields still change after Ready (they are not compared).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, owners_of, uid_of
from myrmidon.api.objects.conditions import READY, find
from myrmidon.testing.simulation.normalisation import Masks, differing_paths, normalised
from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.run import Run


@dataclass(slots=True)
class ReadyWorlds:
    """The children of an object for each of its specs, as references leave them."""

    children: dict[tuple[str, bytes], dict[str, Json]] = field(default_factory=dict)
    loose: set[tuple[str, str]] = field(default_factory=set)
    """Fields by kind and path that change after Ready, also without faults."""


def check_generations(run: Run, changes: Sequence[JudgedChange]) -> None:
    """O9: observedGeneration is at most the generation, and never decreases."""
    last: dict[str, int] = {}
    for change in changes:
        status = change.after.get("status")
        observed = status.get("observedGeneration") if isinstance(status, dict) else None
        if not isinstance(observed, int) or change.deleted or not change.by_controller:
            continue
        uid, generation = change.uid, generation_of(change.after)
        if observed > generation:
            run.fail(
                "O9",
                change.name,
                f"{change.name} has observedGeneration {observed} of {generation}",
            )
        if observed < last.get(uid, 0):
            run.fail(
                "O9",
                change.name,
                f"the observedGeneration of {change.name} went back to {observed}",
            )
        last[uid] = max(observed, last.get(uid, 0))


def check_caught_up(run: Run, objects: Iterable[Json]) -> None:
    """O9: a controller that reports observedGeneration reports the last one in the end.

    Only for references: in a run with faults, O1 compares it with the reference.
    """
    kinds = {kind for recipe, _ in run.recipes for kind in recipe.kinds}
    for obj in objects:
        status = obj.get("status")
        observed = status.get("observedGeneration") if isinstance(status, dict) else None
        if obj["kind"] not in kinds or not isinstance(observed, int) or is_deleting(obj):
            continue
        if observed < generation_of(obj):
            name = f"{obj['kind']} {obj['metadata']['name']}"
            message = f"has observedGeneration {observed} of {generation_of(obj)} at the end"
            run.fail("O9", name, f"{name} {message}")


def says_ready(change: JudgedChange) -> bool:
    """Whether a change reports Ready for the current generation, for the first time."""
    obj = change.after
    if change.deleted or is_deleting(obj) or not change.by_controller:
        return False
    generation = generation_of(obj)
    return is_ready_for(obj, generation) and not (
        change.before is not None and is_ready_for(change.before, generation)
    )


def is_ready_for(obj: Json, generation: int) -> bool:
    """Whether an object reports Ready for a generation."""
    found = find(obj, READY)
    if found is None or found.status != "True":
        return False
    status = obj.get("status") or {}
    observed = found.observed_generation or status.get("observedGeneration", generation)
    return bool(observed == generation)


def ready_moments(
    run: Run, changes: Sequence[JudgedChange]
) -> Iterable[tuple[JudgedChange, dict[str, Json]]]:
    """Return each report of Ready, with the children at that moment."""
    living: dict[str, Json] = {}
    kinds = {kind for recipe, _ in run.recipes for kind in recipe.kinds}
    for change in changes:
        if change.deleted:
            living.pop(change.uid, None)
        else:
            living[change.uid] = change.after
        if change.after["kind"] in kinds and says_ready(change):
            yield change, children_of(change.after, living.values())


def children_of(owner: Json, objects: Iterable[Json]) -> dict[str, Json]:
    """Return the objects that an object owns directly, normalised."""
    uid = uid_of(owner)
    mine = [
        obj for obj in objects
        if any(one.get("uid") == uid for one in owners_of(obj)) and not is_deleting(obj)
    ]  # fmt: skip
    return normalised([owner, *mine], Masks(kinds=frozenset({owner["kind"]})))


def spec_key(obj: Json) -> tuple[str, bytes]:
    """Return what the children of an object depend on: its name and spec."""
    spec = orjson.dumps(obj.get("spec"), option=orjson.OPT_SORT_KEYS)
    return (f"{obj['kind']} {obj['metadata']['name']}", spec)


def check_ready(
    run: Run, moments: Iterable[tuple[JudgedChange, dict[str, Json]]], worlds: ReadyWorlds
) -> None:
    """O8: at each report of Ready, the children are as in the reference for the same spec."""
    for change, children in moments:
        expected = worlds.children.get(spec_key(change.after))
        if expected is None:
            continue
        for role in sorted({*expected, *children}):
            wrong = _wrong(role, expected, children, worlds)
            if wrong:
                run.fail(
                    "O8",
                    change.name,
                    f"{change.name} says Ready for generation {generation_of(change.after)} at "
                    f"{change.at:g} s, but {wrong}",
                )


def _wrong(
    role: str, expected: dict[str, Json], children: dict[str, Json], worlds: ReadyWorlds
) -> str:
    kind = role.partition(" ")[0]
    if (kind, "") in worlds.loose:
        return ""
    if role not in children:
        return f"{role} does not exist"
    if role not in expected:
        return f"{role} still exists"
    if expected[role] == children[role]:
        return ""
    for path in differing_paths(expected[role], children[role]):
        if not any(path.startswith(loose) for known, loose in worlds.loose if known == kind):
            return f"{path} of {role} is not as the spec says"
    return ""


def learn(
    worlds: ReadyWorlds,
    settled: Iterable[tuple[Json, dict[str, Json]]],
    moments: Iterable[tuple[JudgedChange, dict[str, Json]]],
) -> None:
    """Learn from a reference: the children of settled objects, and what changes after Ready."""
    for owner, children in settled:
        worlds.children[spec_key(owner)] = children
    for change, children in moments:
        expected = worlds.children.get(spec_key(change.after))
        if expected is None:
            continue
        for role in sorted({*expected, *children}):
            kind = role.partition(" ")[0]
            if role not in children or role not in expected:
                worlds.loose.add((kind, ""))
            else:
                for path in differing_paths(expected[role], children[role]):
                    worlds.loose.add((kind, path))

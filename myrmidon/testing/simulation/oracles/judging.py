"""Judge one run by all oracles that need no other run, and collect what others are compared with."""

from myrmidon.api.objects.accessors import Json, is_deleting, owners_of, uid_of
from myrmidon.testing.simulation.normalisation import Masks, normalised, roles_of
from myrmidon.testing.simulation.oracles.children import check_children
from myrmidon.testing.simulation.oracles.commits import JudgedChange, changes_of
from myrmidon.testing.simulation.oracles.conditions import (
    ReadyWorlds,
    check_caught_up,
    check_generations,
    check_ready,
    children_of,
    learn,
    ready_moments,
)
from myrmidon.testing.simulation.oracles.foreign import check_foreign, check_owners
from myrmidon.testing.simulation.oracles.health import check_leases, check_processes, check_watches
from myrmidon.testing.simulation.oracles.orphans import check_orphans
from myrmidon.testing.simulation.oracles.recovery import check_recovery
from myrmidon.testing.simulation.oracles.storms import check_fights, check_idle_writes, check_rest
from myrmidon.testing.simulation.requests import name_in, version_in
from myrmidon.testing.simulation.result import Facts, SimulationResult, WriteFact
from myrmidon.testing.simulation.run import Run
from myrmidon.testing.simulation.trace import Exchanged

# Faults after which Ready may be reported for a moment that a third party has changed.
_MEDDLING = frozenset({"monkey", "webhook", "namespace"})


def judge(run: Run, result: SimulationResult, masks: Masks, worlds: ReadyWorlds | None) -> None:
    """Add the failures of a run to it, and what other runs are compared with to its result.

    ``worlds`` are the children that the references left; None for a reference, which fills its own.
    """
    masks = Masks(
        masks.paths, masks.kinds | frozenset(run.retained), (*masks.ignored, *run.ignored)
    )
    objects = run.objects() if run.at_rest is None else run.at_rest
    changes = list(changes_of(run))
    result.end = normalised(objects, masks) | _inventories(run)
    if run.recovery.in_outage is not None:
        result.in_outage = normalised(run.recovery.in_outage, masks)
    result.summary = _with_externals(_summary(changes), run)
    result.facts = _facts(run, changes)
    result.facts.owners = _owners(objects)
    if not run.plan.faults:
        result.facts.remaining = frozenset(map(_place, objects))
    run.monitors.finish(run.loop.time())
    check_processes(run)
    check_watches(run)
    check_leases(run, changes)
    check_generations(run, changes)
    check_foreign(run, changes)
    check_owners(run, changes)
    check_fights(run, changes)
    check_children(run, changes)
    moments = list(ready_moments(run, changes))
    if worlds is None:
        result.ready = ReadyWorlds()
        kinds = {kind for recipe, _ in run.recipes for kind in recipe.kinds}
        pairs = [
            (obj, children_of(obj, world))
            for world in (*run.settled, objects)
            for obj in world
            if obj["kind"] in kinds and not is_deleting(obj)
        ]
        learn(result.ready, pairs, moments)
        if result.finished and not run.plan.faults:
            check_caught_up(run, objects)
    elif not any(fault.action.kind in _MEDDLING for fault in run.plan):
        check_ready(run, moments, worlds)
    if result.finished:
        check_recovery(run, changes)
        check_orphans(run, changes, objects)
        check_rest(run, changes)
        check_idle_writes(run)


def _place(obj: Json) -> str:
    meta = obj["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']}/{where}{meta['name']}"


def _owners(objects: list[Json]) -> dict[str, list[str]]:
    """Return the roles of the owners of each object."""
    roles = roles_of(objects)
    return {
        roles[uid_of(obj)]: [
            roles[str(one.get("uid"))] for one in owners_of(obj) if str(one.get("uid")) in roles
        ]
        for obj in objects
    }


def _inventories(run: Run) -> dict[str, Json]:
    return {
        f"external {name}": {"resources": sorted(one.resources.values(), key=repr)}
        for name, one in run.externals.items()
    }


def _summary(changes: list[JudgedChange]) -> dict[tuple[str, str], int]:
    """Return how often controllers created and deleted objects, by role."""
    found: dict[tuple[str, str], int] = {}
    created = [one.after for one in changes if one.verb == "create"]
    roles = roles_of(created)
    for change in changes:
        if not change.by_controller or change.verb == "update":
            continue
        role = roles.get(change.uid, change.name).partition(" #")[0]
        found[change.verb, role] = found.get((change.verb, role), 0) + 1
    return found


def _with_externals(found: dict[tuple[str, str], int], run: Run) -> dict[tuple[str, str], int]:
    made = {("create", f"external {name}"): len(one.ever) for name, one in run.externals.items()}
    return found | made


def _facts(run: Run, changes: list[JudgedChange]) -> Facts:
    director = run.director
    writes = [
        WriteFact(
            one.subject.verb, one.subject.kind, name_in(one.subject, one.request, _body(one)),
            one.subject.subresource, one.before, one.revision, one.at, one.outcome,
            run.states.get(version_in(_body(one)), "") if run.states else "",
        )
        for one in run.trace.exchanges() if one.subject.counts
    ]  # fmt: skip
    children = {
        one.name.replace(" ", "/", 1): None
        for one in changes
        if one.by_controller and one.verb == "create"
    }
    return Facts(
        writes=writes,
        events=dict(director.events),
        stale_reads=sorted({kind for process in run.processes for kind in process.reads}),
        requests=director.requests,
        edits=run.user.edits,
        hasty=run.user.hasty,
        steps=list(run.user.steps),
        kinds=[kind for recipe, _ in run.recipes for kind in recipe.kinds],
        replicas=max((replicas for _, replicas in run.recipes), default=1),
        made=dict(run.user.ever),
        children=list(children),
        begun=_summary([one for one in changes if one.number < (run.user.edited_at or 0)]),
        taken=run.user.taken,
        interfered=list(run.user.interfered),
        is_plain=any(recipe.is_plain for recipe, _ in run.recipes),
    )


def _body(entry: Exchanged) -> bytes:
    return entry.answer.body if entry.answer is not None else b""

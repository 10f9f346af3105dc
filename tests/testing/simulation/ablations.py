"""Safeguards of the framework that can be switched off, one at a time, and scenarios that notice it.

Each ablation replaces one function of the framework by one without the safeguard.  It is a patch of a
test and never an option: a user cannot switch a safeguard off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any, NamedTuple

import pytest

from myrmidon import Controller, ControllerOptions, Done, OutputSet, Result, kinds, state
from myrmidon.api.objects.accessors import Json, finalizers_of
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.errors import NotFoundError
from myrmidon.errors import api as api_errors
from myrmidon.fsm.engine import ACTED
from myrmidon.fsm.external import ledger
from myrmidon.fsm.status import status
from myrmidon.io.client import Client
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.lists.scope import Scope
from myrmidon.io.watch import actions, protocol
from myrmidon.io.watch.cache import Cache
from myrmidon.io.writes import applicator
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.runtime.queue.backoff import Backoff
from myrmidon.runtime.reconcile import (
    external,
    finalizer_edits,
    output_writer,
    passes,
    status_writer,
    tracked_children,
)
from myrmidon.sets import planning
from myrmidon.sets.outputs.outputs import Delete
from myrmidon.sets.ownership import owner_references
from myrmidon.testing.simulation import Plan, Scenario
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.references import References
from tests.runtime.claims import ByTag, ByToken, Claims, claim
from tests.testing.simulation.fault_classes import pair
from tests.testing.simulation.things import Thing, child, growth, life, thing

RUNS_MAX = 400


class Depots(Controller[Thing]):
    """Keeps a ConfigMap, one more while the size is 1, and a copy in another namespace."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Stored")
    def stored(self, thing: Thing, out: OutputSet) -> Result:
        """All ConfigMaps are there."""
        out.apply(child("ConfigMap", thing.name, data={"size": str(thing.spec.size)}))
        if thing.spec.size == 1:
            out.apply(child("ConfigMap", f"{thing.name}-extra", data={"small": "yes"}))
        copy = child("ConfigMap", f"{thing.name}-copy", data={"size": str(thing.spec.size)})
        copy["metadata"]["namespace"] = "other"
        out.apply(copy, owner_refs=False)
        return Done()


async def depots(sim: Any) -> None:
    """A depot grows and is deleted."""
    sim.namespaces("other")
    sim.controller(Depots)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()
    await sim.user.patch(made, size=1)
    await sim.settle()
    await sim.user.delete(made)
    await sim.settle()


class Strays(Controller[Thing]):
    """Declares a child in another namespace with an owner reference, which is refused."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Strayed")
    def strayed(self, thing: Thing, out: OutputSet) -> Result:
        """There is a ConfigMap in another namespace."""
        stray = child("ConfigMap", thing.name, data={"size": "1"})
        stray["metadata"]["namespace"] = "other"
        out.apply(stray)
        return Done()


async def strays(sim: Any) -> None:
    """A Thing with a child in another namespace."""
    sim.namespaces("other")
    sim.controller(Strays)
    await sim.user.create(thing())
    await sim.settle()


def rented(store: type[ByToken], *, honours_tokens: bool) -> Any:
    """Return a scenario with an external resource that is created, resized and removed."""

    async def renting(sim: Any) -> None:
        cloud = sim.external(
            "cloud",
            honours_tokens=honours_tokens,
            visible_after=timedelta(seconds=0 if honours_tokens else 10),
        )
        sim.controller(lambda: Claims(store(cloud)))
        made = await sim.user.create(claim())
        await sim.settle()
        await sim.user.patch(made, {"spec": {"size": 2}})
        await sim.settle()
        await sim.user.delete(made)
        await sim.settle()

    return renting


by_token, by_tag = rented(ByToken, honours_tokens=True), rented(ByTag, honours_tokens=False)


class Ablation(NamedTuple):
    """A safeguard, how it is switched off, and where that is looked for."""

    safeguard: str
    off: Callable[[pytest.MonkeyPatch], None]
    scenarios: Sequence[Any] = (growth,)
    extra: Sequence[Plan] = ()
    """Plans that are tried first, for faults that need two parts at the right moments."""


@dataclass
class Noticed:
    """What noticed an ablation: an oracle, in the run of a scenario under a plan."""

    safeguard: str
    oracle: str = ""
    role: str = ""
    plan: Json = field(default_factory=dict)
    told: str = ""
    """The plan as text."""
    scenario: int = 0
    """The number of the scenario of the ablation."""
    runs: int = 0


def notice(ablation: Ablation) -> Noticed:
    """Explore until an oracle fails; an empty result if none does."""
    runs = 0
    with pytest.MonkeyPatch.context() as patch:
        ablation.off(patch)
        for number, body in enumerate(ablation.scenarios):
            references = References(Scenario(body))
            runs += references.runs
            found = references.failures
            if not found and references.main.finished:
                plans = (*ablation.extra, *islice(depth_one(references.facts), RUNS_MAX))
                for plan in plans:
                    runs += 1
                    found = references.run(plan).failures
                    if found:
                        break
            if found:
                said = found[0]
                plan = Plan() if said.result is None else said.result.plan
                return Noticed(
                    ablation.safeguard, said.oracle, said.role, plan.to_json(), str(plan), number, runs
                )  # fmt: skip
    return Noticed(ablation.safeguard, runs=runs)


def notices(ablation: Ablation, found: Noticed) -> set[str]:
    """Run the plan that noticed an ablation again; return the oracles that fail."""
    with pytest.MonkeyPatch.context() as patch:
        ablation.off(patch)
        references = References(Scenario(ablation.scenarios[found.scenario]))
        failures = list(references.failures)
        plan = Plan.from_json(found.plan)
        if plan and not failures:
            failures += references.run(plan).failures
    return {one.oracle for one in failures}


# ------------------------------------------------------------------ what is switched off


def _old_lists(patch: pytest.MonkeyPatch) -> None:
    listed = Scope.list_request

    def anyhow(self: Scope, **options: Any) -> Any:
        request = listed(self, **options)
        return request._replace(query=(*request.query, ("resourceVersion", "0")))

    patch.setattr(Scope, "list_request", anyhow)
    patch.setattr(protocol.Watching, "_list", lambda _self: actions.List())


def _no_monotonic_guard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("myrmidon.io.watch.cache.version_in", lambda _entry: -1)
    patch.setattr(protocol.Watching, "_is_replay", lambda _self, _version: False)


def _no_own_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Cache, "record_write", lambda _self, _obj, **_by: None)


def _unknown_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OwnWrites, "mark_unknown", lambda _self, _ref: None)


def _delete_by_name(patch: pytest.MonkeyPatch) -> None:
    real = Client.send

    def by_name(self: Any, request: Request, **options: Any) -> Any:
        if request.verb is Verb.DELETE and isinstance(request.body, dict):
            body = {key: value for key, value in request.body.items() if key != "preconditions"}
            request = request._replace(body=body)
        return real(self, request, **options)

    patch.setattr(Client, "send", by_name)


def _take_what_others_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planning, "refuse_others", lambda *_given: None)


def _no_finalizer_first(patch: pytest.MonkeyPatch) -> None:
    async def skipped(_subject: Any) -> Any:
        return ACTED

    patch.setattr(passes, "ensure_finalizer", skipped)
    patch.setattr(tracked_children, "ensure_finalizer", skipped)


def _release_at_once(patch: pytest.MonkeyPatch) -> None:
    async def skipped(*_given: Any) -> Any:
        return ACTED

    patch.setattr(passes, "delete_children", skipped)


def _believe_the_cache(patch: pytest.MonkeyPatch) -> None:
    """Take a child that the cache does not have for gone."""

    async def cached(subject: Any, flush: Any) -> Any:
        seen = [
            ref
            for ref in dict.fromkeys(subject.children())
            if subject.deps.objects.get(ref) is not None
        ]
        return await flush([Delete(ref) for ref in seen], "finalizer") if seen else ACTED

    patch.setattr(passes, "delete_children", cached)


def _whole_finalizers(patch: pytest.MonkeyPatch) -> None:
    def merged(ref: Any, obj: Any, wanted: list[str]) -> Request:
        body = {"metadata": {"finalizers": wanted}}
        return Request(Verb.PATCH, ref, body, patch=Patch.MERGE)

    def add(ref: Any, obj: Any, finalizer: str) -> Request:
        return merged(ref, obj, [*finalizers_of(obj), finalizer])

    def remove(ref: Any, obj: Any, finalizer: str) -> Request:
        return merged(ref, obj, [one for one in finalizers_of(obj) if one != finalizer])

    patch.setattr(finalizer_edits, "add_finalizer", add)
    patch.setattr(finalizer_edits, "remove_finalizer", remove)


def _no_records(patch: pytest.MonkeyPatch) -> None:
    async def skipped(_subject: Any, _tracked: Any) -> None:
        return None

    patch.setattr(output_writer, "record_children", skipped)


def _tokens_change(patch: pytest.MonkeyPatch) -> None:
    drawn = iter(range(10**6))
    patch.setattr(ledger, "token_of", lambda uid, name, _number: f"{uid} {name} {next(drawn)}")
    real = external._Run._create

    async def fresh(self: Any, create: Any) -> Any:
        token = f"fresh {next(drawn)}"
        return await real(self, replace(create, entry=replace(create.entry, token=token)))

    patch.setattr(external._Run, "_create", fresh)


def _no_doubt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger, "_look_again", lambda *_given: None)


def _write_always(patch: pytest.MonkeyPatch) -> None:
    """Send a patch for each output, also if it would change nothing."""
    real = planning.plan

    def always(output: Any, current: Any, parent: Any, **options: Any) -> Any:
        request = real(output, current, parent, **options)
        if request is None and current is not None:
            body = {"metadata": {"labels": current["metadata"].get("labels") or {}}}
            return Request(Verb.PATCH, output.ref, body, patch=Patch.MERGE)
        return request

    patch.setattr(applicator, "plan", always)
    patch.setattr(applicator.Applicator, "_holds", lambda *_given: False)
    patch.setattr(applicator.Applicator, "_is_settled", lambda *_given: False)


def _times_move(patch: pytest.MonkeyPatch) -> None:
    real = status._condition

    def moving(kind: str, said: Any, old: Any, generation: int, now: Any) -> Any:
        return real(kind, said, None, generation, now)

    patch.setattr(status, "_condition", moving)


def _latest_generation(patch: pytest.MonkeyPatch) -> None:
    """After a conflict, claim the generation that was read last for a decision on an older one."""
    real = status_writer.send_status

    async def claiming(subject: Any, place: Any, make: Any) -> None:
        def latest(obj: Any) -> Any:
            made = make(obj)
            now = obj["metadata"]["generation"]
            conditions = [{**one, "observedGeneration": now} for one in made["conditions"]]
            return {**made, "observedGeneration": now, "conditions": conditions}

        await subject.refresh()
        await real(subject, place, latest)

    patch.setattr(status_writer, "send_status", claiming)


def _forbidden_is_not_found(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(api_errors._BY_STATUS, 403, NotFoundError)


def _no_fence(patch: pytest.MonkeyPatch) -> None:
    async def unfenced(self: Any, request: Any, *, deadline: float | None = None) -> Any:
        return await self._inner.send(request, deadline=deadline)

    patch.setattr(FencedTransport, "send", unfenced)


def _any_owner(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(owner_references, "_check_reach", lambda *_given: None)


def _no_idle_deadline(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "Timing", lambda **_given: _ENDLESS)
    real = protocol.Watching.__init__

    def endless(self: Any, *given: Any, **options: Any) -> None:
        real(self, *given, **options)
        self._timing = _ENDLESS

    patch.setattr(protocol.Watching, "__init__", endless)


_ENDLESS = protocol.Timing(idle_seconds=10.0**9)


def _no_backoff(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Backoff, "failed", lambda _self, _key, _revision=0: 0.01)


def _no_deletes_from_lists(patch: pytest.MonkeyPatch) -> None:
    real = Cache._sweep

    def lazy(self: Any, version: int) -> Any:
        self._unlisted = {}
        return real(self, version)

    patch.setattr(Cache, "_sweep", lazy)


def _no_new_list(patch: pytest.MonkeyPatch) -> None:
    """After 410, go on watching from the newest version without a list."""

    def blind(self: Any) -> Any:
        return actions.WatchFrom("", 300) if self._number > 0 else actions.List()

    patch.setattr(protocol.Watching, "_list", blind)


def _drop_all_changes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OwnWrites, "is_own", lambda _self, _key, change: change.ref.kind.kind != "Thing")


MISSED_DELETE = Plan.of(
    (t.end(), a.gap("ConfigMap", 30.0)), (t.end(), a.monkey("delete", "ConfigMap/default/a"))
)
REPLACED = [
    Plan.of(
        (t.write(n), a.hold("ConfigMap", 40.0)),
        (t.write(n), a.monkey("occupy", "ConfigMap/default/a-extra", lasts=60.0, number=1)),
    )
    for n in (5, 6, 7, 8)
]
FOREIGN_FINALIZER = [
    Plan.of((t.write(n), a.hold("Thing", 40.0)), (t.write(n), a.monkey("hold", "Thing/default/a")))
    for n in (1, 2, 3, 4, 5, 6, 7)
]

ABLATIONS = (
    Ablation("S1 consistent first lists", _old_lists, (depots, life)),
    Ablation("S1 versions never go back", _no_monotonic_guard, (growth,)),
    Ablation("S1 a list deletes what it lacks", _no_deletes_from_lists, (growth,), (MISSED_DELETE,)),
    Ablation("S1 a new list after 410", _no_new_list, (growth,), (MISSED_DELETE,)),
    Ablation("S2 own writes are read", _no_own_writes, (growth, depots)),
    Ablation("S3 ambiguous writes are read back", _unknown_is_forgotten, (growth, depots, life)),
    Ablation("S4 deletes name the uid", _delete_by_name, (depots,), REPLACED),
    Ablation("S5 objects of other owners are left alone", _take_what_others_own, (growth,)),
    Ablation("S6 finalizer before the first effect", _no_finalizer_first, (depots, by_token)),
    Ablation("S6 finalizer stays until children are gone", _release_at_once, (depots,)),
    Ablation("S6 absence is read live", _believe_the_cache, (depots,)),
    Ablation("S7 finalizers of others are kept", _whole_finalizers, (life,), FOREIGN_FINALIZER),
    Ablation("S8 children are recorded before they are made", _no_records, (depots,)),
    Ablation("S9 the same token for the same resource", _tokens_change, (by_token, by_tag)),
    Ablation("S9 absence is doubted for a while", _no_doubt, (by_tag,)),
    Ablation("S10 no write without a change", _write_always, (growth,)),
    Ablation("S10 times move with the status alone", _times_move, (growth,)),
    Ablation("S11 the generation that was read", _latest_generation, (growth,)),
    Ablation("S12 403 is not 404", _forbidden_is_not_found, (growth, depots)),
    Ablation("S13 no write after the lease", _no_fence, (pair,)),
    Ablation("S15 owners within reach", _any_owner, (strays,)),
    Ablation("S16 silent watches are opened again", _no_idle_deadline, (growth,)),
    Ablation("backoff after failures", _no_backoff, (growth,)),
    Ablation("changes of children wake their parent", _drop_all_changes, (growth,)),
)  # fmt: skip

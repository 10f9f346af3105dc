"""Ablations: the safeguards of the framework, and how the simulator notices that one of them is missing.

``safeguards`` switches them off, one at a time; ``ablation_scenarios`` has scenarios that need them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation import Plan, Scenario
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from myrmidon.testing.simulation.enumeration import depth_one
from myrmidon.testing.simulation.references import References
from tests.testing.simulation import safeguards as off
from tests.testing.simulation.ablation_scenarios import by_tag, by_token, depots, strays
from tests.testing.simulation.fault_classes import pair
from tests.testing.simulation.things import growth, life

RUNS_MAX = 400


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
    Ablation("S1 consistent first lists", off.old_lists, (depots, life)),
    Ablation("S1 versions never go back", off.no_monotonic_guard, (growth,)),
    Ablation("S1 a list deletes what it lacks", off.no_deletes_from_lists, (growth,), (MISSED_DELETE,)),
    Ablation("S1 a new list after 410", off.no_new_list, (growth,), (MISSED_DELETE,)),
    Ablation("S2 own writes are read", off.no_own_writes, (growth, depots)),
    Ablation("S3 ambiguous writes are read back", off.unknown_is_forgotten, (growth, depots, life)),
    Ablation("S4 deletes name the uid", off.delete_by_name, (depots,), REPLACED),
    Ablation("S5 objects of other owners are left alone", off.take_what_others_own, (growth,)),
    Ablation("S6 finalizer before the first effect", off.no_finalizer_first, (depots, by_token)),
    Ablation("S6 finalizer stays until children are gone", off.release_at_once, (depots,)),
    Ablation("S6 absence is read live", off.believe_the_cache, (depots,)),
    Ablation("S7 finalizers of others are kept", off.whole_finalizers, (life,), FOREIGN_FINALIZER),
    Ablation("S8 children are recorded before they are made", off.no_records, (depots,)),
    Ablation("S9 the same token for the same resource", off.tokens_change, (by_token, by_tag)),
    Ablation("S9 absence is doubted for a while", off.no_doubt, (by_tag,)),
    Ablation("S10 no write without a change", off.write_always, (growth,)),
    Ablation("S10 times move with the status alone", off.times_move, (growth,)),
    Ablation("S11 the generation that was read", off.latest_generation, (growth,)),
    Ablation("S12 403 is not 404", off.forbidden_is_not_found, (growth, depots)),
    Ablation("S13 no write after the lease", off.no_fence, (pair,)),
    Ablation("S15 owners within reach", off.any_owner, (strays,)),
    Ablation("S16 silent watches are opened again", off.no_idle_deadline, (growth,)),
    Ablation("backoff after failures", off.no_backoff, (growth,)),
    Ablation("changes of children wake their parent", off.drop_all_changes, (growth,)),
)  # fmt: skip

"""simulate: one run of a scenario under one plan, compared with its references."""

from collections.abc import Sequence
from typing import Any

from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationResult
from myrmidon.testing.simulation.scenarios import as_scenario

_KEPT = 4
_references: dict[Any, References] = {}  # of the last scenarios


def simulate(
    target: Any,
    workload: Sequence[Any] = (),
    *,
    plan: Plan = Plan(),  # noqa: B008 - a value
    seed: int = 0,
    jitter: float = 0.0,
    compare: bool = True,
) -> SimulationResult:
    """Run a scenario, or a controller with a workload, once under a plan.

    A run with faults is compared with references, which are kept for the last few scenarios.
    ``compare=False`` leaves that out, and with it O1, O3, O4 and O8.  ``workload``: see ``as_scenario``.
    """
    scenario = as_scenario(target, workload)
    if not compare or not plan:
        return scenario.run(plan, seed, jitter=jitter)
    key = (scenario.body, scenario.namespace, scenario.actors)
    found = _references.pop(key, None)
    if found is None:
        found = References(scenario)
        if len(_references) >= _KEPT:
            del _references[next(iter(_references))]
    _references[key] = found
    return found.run(plan, seed, jitter)

"""Judge one run by all oracles that need no other run."""

from typing import TYPE_CHECKING

from myrmidon.testing.simulation.normalisation import Masks, normalised
from myrmidon.testing.simulation.result import Facts, SimulationResult

if TYPE_CHECKING:
    from myrmidon.testing.simulation.run import Run


def judge(run: "Run", result: SimulationResult, masks: Masks) -> None:
    """Add the failures of a run to it, and what other runs are compared with to its result."""
    masks = Masks(
        masks.paths, masks.kinds | frozenset(run.retained), (*masks.ignored, *run.ignored)
    )
    store = run.server.store
    objects = [record.value for name in store.resources() for record in store.scan(name)]
    result.end = normalised(objects, masks)
    result.facts = Facts(events=dict(run.director.events), requests=run.director.requests)
    run.monitors.finish(run.loop.time())

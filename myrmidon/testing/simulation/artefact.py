"""Artefacts: a failure as a JSON file that is enough to replay it.

    {"scenario": "tests/test_shop.py::test_shop", "seed": 0, "plan": {...}, "oracle": "O1", ...}

``replay`` runs the scenario with the seed, the plan and the schedule of an artefact, and says whether
the trace is the same.
"""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult
from myrmidon.testing.simulation.scenarios import as_scenario

_FORMAT = 1


def artefact_of(failure: SimulationFailure, where: str = "") -> Json:
    """Return a failure as JSON; ``where`` is the place of the scenario."""
    result = failure.result
    if result is None:
        raise UsageError("the failure has no run to store")
    return {
        "format": _FORMAT,
        "scenario": where or result.scenario,
        "seed": result.seed,
        "jitter": result.jitter,
        "plan": result.plan.to_json(),
        "oracle": failure.oracle,
        "role": failure.role,
        "message": failure.message,
        "traceHash": result.trace_hash,
        "story": failure.story().splitlines(),
        "python": platform.python_version(),
        "myrmidon": _version(),
    }


def store(failure: SimulationFailure, path: Path, where: str = "") -> None:
    """Write the artefact of a failure to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(artefact_of(failure, where), option=orjson.OPT_INDENT_2))


def load(path: Path) -> Json:
    """Read an artefact; raise ``UsageError`` if it is not one."""
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as an artefact: {error}") from None
    if not isinstance(document, dict) or "plan" not in document or "seed" not in document:
        raise UsageError(f"{path} is not an artefact of a simulation: it has no plan and seed")
    return document


def replay(target: Any, artefact: Mapping[str, Any]) -> SimulationResult:
    """Run a scenario as an artefact says, and compare it with its references."""
    references = References(as_scenario(target))
    plan = Plan.from_json(artefact["plan"])
    return references.run(plan, int(artefact["seed"]), float(artefact.get("jitter", 0.0)))


def _version() -> str:
    try:
        return version("myrmidon")
    except PackageNotFoundError:
        return ""

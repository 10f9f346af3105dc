"""The files of a report directory: failures as artefacts and pages, coverage as JSON and a page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from myrmidon.errors import UsageError
from myrmidon.testing.campaigns.coverage import Coverage
from myrmidon.testing.campaigns.coverage_views import coverage_page
from myrmidon.testing.campaigns.timeline import timeline_page
from myrmidon.testing.simulation.artefact import artefact_of
from myrmidon.testing.simulation.result import SimulationFailure

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class FailureFiles:
    """The files of one failure; None where the failure has no run to store."""

    artefact: Path | None
    timeline: Path | None = None
    replay: str = ""
    """The command that replays the artefact."""


def write_failures(
    failures: Sequence[SimulationFailure],
    folder: Path,
    name: str,
    where: str,
    *,
    command: Callable[[Path], str],
    extra: Mapping[str, Any] | None = None,
) -> list[FailureFiles]:
    """Write the files of each failure; return their paths, in the same order.

    ``where`` is the place of the scenario; ``command`` returns the command that replays an artefact;
    ``extra`` is added to each artefact.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _written(
                failure, folder / f"{_UNSAFE.sub('-', name)}-{number}", where, command, extra or {}
            )
            for number, failure in enumerate(failures, 1)
        ]
    except OSError as error:
        raise UsageError(f"the report cannot be written to {folder}: {error.strerror}") from None


def write_coverage(coverage: Coverage, folder: Path, name: str) -> Path:
    """Write coverage as JSON and as an HTML page; return the path of the page."""
    stem = _UNSAFE.sub("-", name)
    found = folder / f"{stem}-coverage.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        document = orjson.dumps(coverage.to_json(), option=orjson.OPT_INDENT_2)
        (folder / f"{stem}-coverage.json").write_bytes(document)
        found.write_text(coverage_page(coverage))
    except OSError as error:
        raise UsageError(f"the report cannot be written to {folder}: {error.strerror}") from None
    return found


def _written(
    failure: SimulationFailure,
    stem: Path,
    where: str,
    command: Callable[[Path], str],
    extra: Mapping[str, Any],
) -> FailureFiles:
    if failure.result is None:
        return FailureFiles(None)
    artefact = stem.parent / f"{stem.name}.json"
    document = {**artefact_of(failure, where), **extra}
    artefact.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    timeline, replay = stem.parent / f"{stem.name}.html", command(artefact)
    timeline.write_text(timeline_page(failure, replay))
    return FailureFiles(artefact, timeline, replay)

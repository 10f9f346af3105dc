"""Examine the whole museum: ``python -m tests.museum [--runs 100000] [--seconds 3600] [--output FILE]``.

Each buggy controller is explored until its first failure, and the plan of that is made as short as
possible.  Then the corrected ones share the runs: all plans of depth one, then random ones.  The table,
and ``museum.json`` if asked for, say what was found, by which oracle, after how many runs and
milliseconds, and whether a correction raised an alarm.
"""

import argparse
import json
import sys
from pathlib import Path

from myrmidon.testing.harness.clock import real_seconds
from myrmidon.testing.harness.garbage import rare_collections
from tests.museum.catalogue import EXHIBITS
from tests.museum.visits import Finding, Twin, find

_BATCH = 50


def main(given: list[str]) -> int:
    """Examine the museum; return 1 if a bug is not found or a correction raises an alarm."""
    parser = argparse.ArgumentParser(prog="python -m tests.museum")
    parser.add_argument(
        "--runs", type=int, default=100_000, help="runs of all corrections together"
    )
    parser.add_argument(
        "--seconds", type=float, default=3600.0, help="the time for the corrections"
    )
    parser.add_argument("--output", type=Path, help="where to write museum.json")
    asked = parser.parse_args(given)
    with rare_collections():
        found = [find(exhibit, shrink=True) for exhibit in EXHIBITS]
        _sweep(found, asked.runs, asked.seconds)
    _show(found)
    if asked.output is not None:
        text = json.dumps([one.to_json() for one in found], indent=1)
        asked.output.write_text(text + "\n", encoding="utf-8")
    return 0 if all(one.found and not one.false_alarms for one in found) else 1


def _sweep(found: list[Finding], runs: int, seconds: float) -> None:
    """Let the corrections take turns, so that each has its share when the time is over."""
    ends_at = real_seconds() + seconds
    twins = [Twin(exhibit) for exhibit in EXHIBITS]
    share = runs // len(twins)
    while real_seconds() < ends_at and any(twin.runs < share for twin in twins):
        for twin in twins:
            if twin.runs < share and real_seconds() < ends_at:
                before = len(twin.failures)
                twin.run(min(_BATCH, share - twin.runs))
                for failure in twin.failures[before:]:
                    print(failure.story(), file=sys.stderr, flush=True)  # noqa: T201 - a command
    for finding, twin in zip(found, twins, strict=True):
        finding.twin_runs, finding.false_alarms = twin.runs, len(twin.failures)
        finding.alarms = [
            f"{one} | {one.result.plan if one.result else ''} | seed {one.result.seed if one.result else ''}"
            for one in twin.failures[:5]
        ]


def _show(found: list[Finding]) -> None:
    titles = ("exhibit", "found", "oracle", "runs", "ms", "faults", "twin runs", "false alarms")
    print("{:30} {:5} {:10} {:>6} {:>6} {:>6} {:>9} {:>12}".format(*titles))  # noqa: T201 - a command
    for one in found:
        print(  # noqa: T201
            f"{one.exhibit:30} {'yes' if one.found else 'NO':5} {one.oracle:10} {one.runs:6} {one.ms:6.0f} "
            f"{'-' if one.shrunk_faults is None else one.shrunk_faults:>6} {one.twin_runs:9} {one.false_alarms:12}"
        )
    runs, alarms = sum(one.twin_runs for one in found), sum(one.false_alarms for one in found)
    said = (
        f"{sum(one.found for one in found)} of {len(found)} found; {alarms} alarms in {runs} runs"
    )
    print(said)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

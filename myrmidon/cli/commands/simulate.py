"""Try controllers under every fault at every moment, and tell the story of what goes wrong.

  myrmidon simulate examples/web_app                        an object from the schema
  myrmidon simulate examples/web_app shop.yaml --budget 2m  the objects of a file
  myrmidon simulate examples/web_app --replay simulation-report/web-app-1.json

Each object is created, each field of its spec is changed by its schema, and in a second scenario the
object is deleted, on an embedded server in virtual time.  That is repeated with crashes, lost answers, stale views, conflicting
edits and other faults, and each run is compared with runs without faults.  Other objects of the files
exist from the start.  No cluster is used.  Calls of a controller to other systems are real.

The exit status is 0 if every run was right, 1 if a run was not, 2 for wrong arguments.
"""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from myrmidon.cli.arguments.files import existing_files
from myrmidon.cli.progress import doing
from myrmidon.cli.targets.loading import load, made
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.testing.campaigns.campaign import Campaign, CampaignOptions
from myrmidon.testing.campaigns.coverage import least_share
from myrmidon.testing.campaigns.coverage_views import coverage_text
from myrmidon.testing.campaigns.failure_text import failures_text
from myrmidon.testing.campaigns.generated_scenario import (
    GeneratedSteps,
    generated_steps,
    scenario_of,
)
from myrmidon.testing.campaigns.report_files import write_coverage, write_failures
from myrmidon.testing.harness.misuse import documents
from myrmidon.testing.simulation.artefact import load as load_artefact
from myrmidon.testing.simulation.artefact import replay
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("target", help="pkg.module[:Controller], or a folder with a controller.py")
    parser.add_argument(
        "sample", nargs="*", help="YAML files; by default an object is made from the schema"
    )
    parser.add_argument(
        "--budget", default="10s", help="10s, 2m or 1h; ci or nightly (default: 10s)"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes that run plans (default: 1)"
    )
    parser.add_argument(
        "--replicas", type=int, default=1, metavar="N", help="replicas with leader election"
    )
    parser.add_argument("--seed", type=int, default=0, help="of random plans (default: 0)")
    parser.add_argument(
        "--faults", default="", metavar="KINDS", help="only these, such as crash,stale"
    )
    parser.add_argument(
        "--report", default="simulation-report", metavar="DIR",
        help="where failures are stored (default: simulation-report)",
    )  # fmt: skip
    parser.add_argument(
        "--coverage", action="store_true",
        help="print which faults were tried in which state, and store it in the report directory",
    )  # fmt: skip
    parser.add_argument(
        "--min-cells", metavar="SHARE", help="fail if less of the coverage is filled, such as 95%%"
    )
    parser.add_argument("--replay", metavar="FILE", help="run only what this artefact says")


def run(args: argparse.Namespace) -> int:
    """Explore, or replay an artefact; print each failure."""
    controllers = _controllers(args.target)
    if args.replay:
        return _replayed(args, controllers)
    if args.jobs < 1 or args.replicas < 1:
        raise UsageError("--jobs and --replicas are numbers from 1 on")
    CampaignOptions(args.budget, faults=args.faults).read()
    least_share(args.min_cells or "0")
    steps = generated_steps(controllers, _samples(args.sample), args.replicas)
    for field in steps.unchanged:
        print(f"not changed: {field}")
    return max(_explored(args, controllers, replace(steps, deletes=each)) for each in (False, True))


def _explored(
    args: argparse.Namespace,
    controllers: Sequence[type[Controller[Any]]],
    steps: GeneratedSteps,
) -> int:
    """Explore one scenario; return the exit status."""
    options = CampaignOptions(args.budget, args.seed, faults=args.faults, jobs=args.jobs, share=0.5)
    scenario, counting = scenario_of(controllers, steps), _Counting(str(steps))
    doing(f"{steps}: running it without faults")
    covers = bool(args.coverage or args.min_cells)
    campaign = Campaign(scenario, options, counting.take, covers=covers)
    report = campaign.explore(args.jobs, shrink=True)
    if report.failures:
        files = write_failures(
            report.failures, Path(args.report), scenario.name, args.target,
            command=partial(_command, args.target), extra={"steps": steps.to_json()},
        )  # fmt: skip
        print(f"\n{failures_text(report.failures, [stored.replay for stored in files])}\n")
        print(f"timelines: {', '.join(str(one.timeline) for one in files if one.timeline)}\n")
    print(f"{steps}: {_counted(report.failures)} in {report.runs} runs, {report.seconds:.1f} s")
    if report.vacuous:
        print(f"  {report.vacuous} runs prove nothing: a fault of their plan had no effect")
    silent = campaign.never_fired()
    if silent:
        print(f"  nothing was tried: no fault of {', '.join(silent)} had an effect")
    return 1 if report.failures or silent or not _is_covered(args, campaign, scenario.name) else 0


def _is_covered(args: argparse.Namespace, campaign: Campaign, name: str) -> bool:
    """Tell and store the coverage, if that was asked for; return whether it is enough."""
    coverage = campaign.coverage
    if coverage is None:
        return True
    if args.coverage:
        stored = write_coverage(coverage, Path(args.report), name)
        print(f"\n{coverage_text(coverage)}\nstored: {stored}\n")
    if coverage.share >= least_share(args.min_cells or "0"):
        return True
    print(f"  {coverage.share:.0%} of the cells are filled; --min-cells asks for {args.min_cells}")
    for state, fault in coverage.open_cells:
        print(f"  never tried: {fault} in {state}")
    return False


def _counted(failures: Sequence[SimulationFailure]) -> str:
    match len(failures):
        case 0:
            return "no failure"
        case 1:
            return "1 failure"
        case many:
            return f"{many} different failures"


def _controllers(target: str) -> list[type[Controller[Any]]]:
    found = load([target])
    for one in found:
        if clusters := clusters_of(one):
            raise UsageError(
                f"{one.__name__} uses remote clusters ({', '.join(clusters)}), which are not simulated.\n"
                "  fix: test it with Harness(..., remotes=...)"
            )
        made(one)
    return found


def _samples(paths: Sequence[str]) -> list[Any]:
    return [manifest for path in existing_files(paths) for manifest in documents(path)]


def _command(target: str, artefact: Path) -> str:
    return shlex.join(["myrmidon", "simulate", target, "--replay", str(artefact)])


def _replayed(args: argparse.Namespace, controllers: Sequence[type[Controller[Any]]]) -> int:
    artefact = load_artefact(Path(args.replay))
    steps = GeneratedSteps.from_json(artefact.get("steps"))
    doing(f"replaying {args.replay}")
    result = replay(scenario_of(controllers, steps), artefact)
    for failure in result.failures:
        failure.result = result
    if result.failures:
        print(f"{failures_text(result.failures)}\n")
    print(_verdict(result, artefact))
    return 1 if result.failures else 0


def _verdict(result: SimulationResult, artefact: Any) -> str:
    if not result.failures:
        return "the plan does not fail any more"
    same = result.trace_hash == artefact.get("traceHash")
    return (
        "the run is the same as the stored one"
        if same
        else "the run differs from the stored one: the controller or myrmidon has changed since"
    )


class _Counting:
    """Counts the runs, for the line that shows how far the exploration is."""

    def __init__(self, about: str) -> None:
        self._about = about
        self._runs = self._failed = 0

    def take(self, result: SimulationResult) -> None:
        """Count a run."""
        self._runs += 1
        self._failed += bool(result.failures)
        doing(f"{self._about}: {self._runs} runs, {self._failed} failing; {result.plan}")

"""A failure for the terminal: what is wrong, the shortest plan, what happened, and how to replay it."""

from collections.abc import Iterator, Sequence

from myrmidon.testing.campaigns.narrative import NarrativeStep, narrated
from myrmidon.testing.campaigns.plan_words import fault_words
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult

# What each oracle requires.
ORACLES: dict[str, str] = {
    "O1": "after all faults are over, the objects are those of a run without faults",
    "O2": "a settled controller does not write any more",
    "O3": "the end depends on the last spec only, not on the edits before it",
    "O4": "objects are not created or deleted more often than without faults",
    "O5": "nothing is left of a deleted object",
    "O6": "fields, labels and finalizers of other writers stay",
    "O7": "the controllers settle, and do not flood the server with writes",
    "O8": "Ready for the current generation is true",
    "O9": "observedGeneration is never ahead and never goes back",
    "O10": "a property of the scenario",
    "O11": "the processes run without unexpected errors",
    "O12": "a process whose lease has ended does not write",
    "O13": "a second pass over the same view does not write",
    "O14": "watches are ordered and complete (this concerns the simulator)",
}
_STEPS_MAX = 200


def failures_text(failures: Sequence[SimulationFailure], replays: Sequence[str] = ()) -> str:
    """Return the report of failures; ``replays`` are the commands that run each of them again.

    The story is told once for all failures of the same run.
    """
    commands = [*replays, *[""] * (len(failures) - len(replays))]
    told: set[tuple[Plan, int]] = set()
    blocks: list[str] = []
    for failure, command in zip(failures, commands, strict=True):
        lines = [*_wrong_lines(failure)]
        result = failure.result
        if result is not None:
            lines += ["", *plan_lines(result.plan)]
            key = (result.plan, result.seed)
            lines += [] if key in told else ["", *_story_lines(result)]
            told.add(key)
        lines += ["", "Replay it", f"  {command}"] if command else []
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _wrong_lines(failure: SimulationFailure) -> Iterator[str]:
    yield f"FAILURE {failure.oracle}: {failure.role}"
    if failure.oracle in ORACLES:
        yield f"  required: {ORACLES[failure.oracle]}"
    yield ""
    yield "What is wrong"
    yield from (f"  {line}" for line in failure.message.splitlines())


def _story_lines(result: SimulationResult) -> Iterator[str]:
    yield "What happened"
    steps = narrated(result)
    if len(steps) > _STEPS_MAX:
        yield f"  ... {len(steps) - _STEPS_MAX} earlier steps"
    for step in steps[-_STEPS_MAX:]:
        yield from step_lines(step)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Return the faults of a plan, one in each line."""
    many = "1 fault" if len(plan) == 1 else f"{len(plan)} faults"
    yield f"The shortest plan that was found ({many})"
    if not plan.faults:
        yield "  no faults: it also fails without any"
    for fault in plan:
        yield f"  {fault_words(fault)}"
        yield f"    {fault}"
    if plan.skipped_edits:
        numbers = ", ".join(str(number + 1) for number in plan.skipped_edits)
        yield f"  the user sends edit {numbers} together with the next one"


def step_lines(step: NarrativeStep) -> Iterator[str]:
    """Return a step as one line, and one for each thing that the controller believed wrongly."""
    who = "FAULT" if step.lane == "fault" else step.lane
    text = step.text
    if step.lane.startswith("watch of "):
        who = step.lane.removeprefix("watch of ")
    did = f"; {step.did}" if step.did else ""
    yield f"  {step.at:9.3f} s  {who} {text}{did}"
    for belief in step.believed:
        yield f"  {'':9}    {'':4}{belief}"

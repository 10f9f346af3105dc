"""O1, O3 and O4: a run compared with the references.

O1: after all faults are over, the world is that of the reference: the same objects with the same
contents.  O5 says the same about external systems.  O3: the references of coalesced edits all end
alike, so the end depends on the last spec and not on the way there.  O4: controllers created and
deleted each object about as often as the references did.

During an outage, O1 holds for every object that the broken part does not concern.
"""

from collections.abc import Container, Mapping, Sequence

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.properties.end_states import differences
from myrmidon.testing.simulation.result import SimulationFailure, SimulationResult

Summary = Mapping[tuple[str, str], tuple[int, int]]
"""The least and the greatest count in the references, by verb and role."""


def compare_ends(
    result: SimulationResult, expected: Mapping[str, Json], oracle: str = "O1"
) -> None:
    """Fail for each object that is not as in the reference."""
    for role in sorted({*expected, *result.end}):
        if expected.get(role) == result.end.get(role):
            continue
        lines = differences(
            {role: expected[role]} if role in expected else {},
            {role: result.end[role]} if role in result.end else {},
        )
        if lines:
            said = "O5" if role.startswith("external ") and oracle == "O1" else oracle
            message = "the end is not that of a run without faults:\n" + "\n".join(lines)
            result.failures.append(
                SimulationFailure(said, role, message, result.virtual_seconds, result)
            )


def compare_outage(
    result: SimulationResult, expected: Mapping[str, Json], broken: Container[str]
) -> None:
    """Fail for each object that an outage does not concern, and that it kept from its end."""
    found = result.in_outage or {}
    for role in sorted({*expected, *found}):
        if role in broken or expected.get(role) == found.get(role):
            continue
        lines = differences(
            {role: expected[role]} if role in expected else {},
            {role: found[role]} if role in found else {},
        )
        message = "a broken part that does not concern it keeps it from its end:\n"
        result.failures.append(
            SimulationFailure(
                "O1", role, message + "\n".join(lines), result.virtual_seconds, result
            )
        )


def compare_summaries(
    result: SimulationResult, envelope: Summary, counted: Container[str] = ()
) -> None:
    """Fail for each role that was created or deleted more or less often than in any reference.

    ``counted``: kinds whose counts depend on the time (``same_time``); they have no least count, and roles
    that the references do not have are left out.
    """
    for verb, role in sorted({*envelope, *result.summary}):
        least, most = envelope.get((verb, role), (0, 0))
        if role.partition(" ")[0] in counted:
            if (verb, role) not in envelope:
                continue
            least = 0
        count = result.summary.get((verb, role), 0)
        if least <= count <= most:
            continue
        said = f"{least}" if least == most else f"{least} to {most}"
        message = f"{role} was {_past(verb)} {count} times by the controller, without faults {said}"
        result.failures.append(
            SimulationFailure("O4", f"{verb} {role}", message, result.virtual_seconds, result)
        )


def envelope_of(references: Sequence[SimulationResult]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the least and the greatest count of each role in the references."""
    keys = sorted({key for one in references for key in one.summary})
    counts = {key: [one.summary.get(key, 0) for one in references] for key in keys}
    # An object that the user deletes may be gone before a controller has seen it.
    deletes = any(
        what == "delete" for one in references if one.facts for what, *_ in one.facts.steps
    )
    return {key: (0 if deletes else min(found), max(found)) for key, found in counts.items()}


def _past(verb: str) -> str:
    return "created" if verb == "create" else "deleted"

"""O8 for controllers that wait for their children (``when_children_ready``).

Such a controller reports Ready only when its children are ready.  A child of a kind that another controller
of the scenario reconciles is ready when it has said so for its current generation.  The rule of the
framework for readiness is not asked: it is what is checked.

A child that was ready once for this generation counts, because the view of the parent may be behind.
"""

from collections.abc import Sequence
from typing import Any

from myrmidon.api.objects.accessors import Json, generation_of, is_deleting, owners_of
from myrmidon.fsm.children.child_states import waits_for_children
from myrmidon.testing.simulation.oracles.commits import JudgedChange
from myrmidon.testing.simulation.oracles.conditions import is_ready_for, says_ready
from myrmidon.testing.simulation.run import Run


def check_children(run: Run, changes: Sequence[JudgedChange]) -> None:
    """Fail if a controller that waits for its children reported Ready before they did."""
    controllers: list[Any] = [one for recipe, _ in run.recipes for one in recipe.controllers]
    waiting = {one.kind().kind for one in controllers if waits_for_children(one)}
    if not waiting:
        return
    ruled = {kind for one in controllers for _, kind in one.readiness_rules}
    reconciled = {one.kind().kind for one in controllers} - ruled
    living: dict[str, Json] = {}
    ready: set[tuple[str, int]] = set()
    for change in changes:
        generation = generation_of(change.after)
        if change.deleted:
            living.pop(change.uid, None)
            continue
        living[change.uid] = change.after
        if is_ready_for(change.after, generation):
            ready.add((change.uid, generation))
        if change.after["kind"] not in waiting or not says_ready(change):
            continue
        for uid, child in living.items():
            if child["kind"] not in reconciled or is_deleting(child):
                continue
            owned = any(one.get("uid") == change.uid for one in owners_of(child))
            if owned and (uid, generation_of(child)) not in ready:
                name = f"{child['kind']} {child['metadata']['name']}"
                said = f"{change.name} says Ready, and its child {name} has not said so yet"
                run.fail("O8", change.name, said)

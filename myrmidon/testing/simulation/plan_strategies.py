"""Hypothesis strategies for plans of the simulator, and a rule-based machine for scenarios.

    @given(fault_plans(kinds=("Deployment", "Service")))
    def test_any_plan(plan):
        simulate(test_web_app, plan=plan).check()

    TestWebApps = scenario_machine(WebApps).TestCase

A drawn plan shrinks to fewer faults, earlier moments and simpler faults.  The machine draws what users do
and which faults happen; its steps are run as one scenario at the end, and compared with the same scenario
without faults.

Importing this module needs hypothesis: ``pip install 'myrmidon[test]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.controller import Controller
from myrmidon.testing.properties.strategies import Fields, edits
from myrmidon.testing.simulation import actions as do
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.simulating import simulate
from myrmidon.testing.simulation.simulation import Simulation
from myrmidon.testing.simulation.triggers import Moment, event, write

_CODES = (409, 429, 500, 503, 403)
_NAMES = ("first", "second")


def fault_plans(
    *, most: int = 3, writes: int = 15, kinds: Sequence[str] = (), events: int = 10
) -> st.SearchStrategy[Plan]:
    """Draw plans with up to ``most`` faults.

    - ``writes``: faults happen at one of the first so many writes.
    - ``kinds``: kinds whose views may be stale and whose watches may break; none by default.
    - ``events``: faults of watches happen at one of the first so many events of a kind.
    """
    return st.lists(_planned(writes, kinds, events), max_size=most).map(
        lambda found: Plan(tuple(found))
    )


def _planned(writes: int, kinds: Sequence[str], events: int) -> st.SearchStrategy[PlannedFault]:
    at_writes = st.builds(PlannedFault, st.integers(1, writes).map(write), _at_writes())
    if not kinds:
        return at_writes
    some = st.sampled_from(tuple(kinds))
    moments: st.SearchStrategy[Moment] = st.builds(event, some, st.integers(1, events))
    watched = st.sampled_from([do.watch(how) for how in ("eof", "410", "dup", "stall")])
    held = some.flatmap(lambda kind: st.sampled_from((do.hold(kind, 45.0), do.lag(kind, 20.0))))
    return st.one_of(
        at_writes,
        st.builds(PlannedFault, moments, watched),
        st.builds(PlannedFault, st.integers(1, writes).map(write), held),
    )


def _at_writes() -> st.SearchStrategy[Action]:
    """Draw faults of a request; the simplest ones come first, so that plans shrink to them."""
    simple = [do.crash("after"), do.lost(), do.applied_then("timeout"), do.crash("before")]
    others = [do.applied_then("reset"), do.applied_then("500"), do.slow(1.2), do.pause(20.0)]
    return st.sampled_from([*simple, *map(do.reply, _CODES), *others])


def scenario_machine(
    controller: Callable[[], Controller[Any]],
    *,
    fields: Fields | None = None,
    names: Sequence[str] = _NAMES,
    most: int = 3,
) -> type[RuleBasedStateMachine]:
    """Return a rule-based machine that creates, edits and deletes objects while faults happen.

    ``fields``: strategies of fields of the spec, see ``strategies.resources``.  ``names``: of the
    objects.  ``most``: the number of faults.  Subclass it to add rules, or use its ``TestCase``.
    """
    resource: Any = controller().resource
    specs = edits(resource, fields=fields).map(lambda spec: spec.to_wire())

    class ScenarioMachine(RuleBasedStateMachine):
        """Collects the steps of a scenario and its faults; ``teardown`` runs them."""

        def __init__(self) -> None:
            super().__init__()
            self.steps: list[tuple[str, str, Json]] = []
            self.faults: list[PlannedFault] = []

        @rule(name=st.sampled_from(tuple(names)), spec=specs)
        def put(self, name: str, spec: Json) -> None:
            """A user creates an object, or edits it."""
            self.steps.append(("put", name, spec))

        @rule(name=st.sampled_from(tuple(names)))
        def delete(self, name: str) -> None:
            """A user deletes an object."""
            self.steps.append(("delete", name, {}))

        @rule(seconds=st.sampled_from((1, 60)))
        def pass_time(self, seconds: int) -> None:
            """Time passes."""
            self.steps.append(("wait", "", {"seconds": seconds}))

        @precondition(lambda self: len(self.faults) < most)
        @rule(fault=_planned(15, (), 0))
        def fail(self, fault: PlannedFault) -> None:
            """A request fails, or the process dies."""
            self.faults.append(fault)

        def teardown(self) -> None:
            """Run the scenario with its faults, and check it."""
            if self.steps:
                body = _played(controller, resource, tuple(self.steps))
                simulate(body, plan=Plan(tuple(self.faults))).check()

    return ScenarioMachine


def _played(
    controller: Callable[[], Controller[Any]],
    resource: Any,
    steps: tuple[tuple[str, str, Json], ...],
) -> Callable[[Simulation], Any]:
    """Return the scenario of the steps of a machine."""

    async def scenario(sim: Simulation) -> None:
        sim.controller(controller)
        there: dict[str, Json] = {}
        for what, name, content in steps:
            manifest = {
                "apiVersion": resource.KIND.api_version, "kind": resource.KIND.kind,
                "metadata": {"name": name}, "spec": content,
            }  # fmt: skip
            if what == "wait":
                await sim.advance(float(content["seconds"]))
            elif what == "put" and name in there:
                gone = dict.fromkeys(there[name].keys() - content.keys())
                await sim.user.patch(manifest, {"spec": {**gone, **content}})
            elif what == "put":
                await sim.user.create(manifest)
            elif name in there:
                await sim.user.delete(manifest)
            if what == "put":
                there[name] = content
            elif what == "delete":
                there.pop(name, None)
            await sim.settle()

    return scenario

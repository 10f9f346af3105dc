"""References: runs without faults, which all others are compared with.

- Two seeds of the scenario: fields in which they differ are masked everywhere.
- The envelope: the scenario with every subset of its edits coalesced with the next one, because a
  controller that was down sees them so.  All must end alike (O3); their counts of created and deleted
  objects are the limits of O4.  If the user makes steps without a rest between them, the scenario with
  rests is part of it: a quicker controller sees it so.
- A scenario in which work is planned for later is compared at the same virtual time (``same_time``).
- A plan in which the user or another client changes what is wanted is compared with a run in which the
  same changes are made at rest, between the same steps of the scenario.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.actions import clock, user
from myrmidon.testing.simulation.normalisation import Masks, differing_paths
from myrmidon.testing.simulation.oracles.conditions import ReadyWorlds
from myrmidon.testing.simulation.oracles.endings import (
    compare_ends,
    compare_outage,
    compare_summaries,
    envelope_of,
)
from myrmidon.testing.simulation.outages import affected
from myrmidon.testing.simulation.plan import Plan, PlannedFault
from myrmidon.testing.simulation.result import Facts, SimulationFailure, SimulationResult
from myrmidon.testing.simulation.same_time import (
    HORIZON_SECONDS,
    PLAIN_HORIZON_SECONDS,
    compared_later,
    counted_kinds,
    is_timed,
)
from myrmidon.testing.simulation.scenarios import Scenario
from myrmidon.testing.simulation.triggers import Moment, end, step, time, write
from myrmidon.testing.simulation.user import HELD_CREATE, PACED, SLOW

COALESCED_MAX = 8
_UNSETTLING = frozenset({"user", "namespace", "monkey", "crd"})  # faults that explain other counts
_JUMP_SECONDS = 7200.0
_SAME_TIME_SECONDS = 30.0
_STORM_FACTOR, _STORM_PER_FAULT, _STORM_BASE = 3, 60, 60


class References:
    """The references of one scenario."""

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        self.scenario, self.seed = scenario, seed
        self.masks = Masks()
        self.worlds = ReadyWorlds()
        self.until: float | None = None
        """The virtual time at which all runs end, if the scenario depends on it."""
        self.counted: frozenset[str] = frozenset()
        """The kinds whose counts depend on the time."""
        self.runs = 0
        self.main = self._reference(masked=False)
        self._wanted: dict[tuple[Plan, float | None], SimulationResult] = {}
        self._timed: frozenset[str] | None = None
        self.failures: list[SimulationFailure] = list(self.main.failures)
        self.envelope: dict[tuple[str, str], tuple[int, int]] = {}
        self.hasty_envelope: dict[tuple[str, str], tuple[int, int]] = {}
        """For runs in which the first edit came before the controllers had done their work."""
        if self.main.finished and not self.failures:
            self._play_out()
            self._mask()
            self._envelop()

    def _reference(
        self,
        plan: Plan = Plan(),  # noqa: B008 - a value
        seed: int | None = None,
        until: float | None = None,
        *,
        masked: bool = True,
    ) -> SimulationResult:
        """Run the scenario without faults that have to be survived."""
        self.runs += 1
        return self.scenario.run(
            plan, self.seed if seed is None else seed, until=until or self.until,
            masks=self.masks if masked else None,
        )  # fmt: skip

    def _play_out(self) -> None:
        """Let all runs end at the same time, if that makes a difference."""
        early = self.main
        if not early.is_timed and not self.facts.is_plain:
            return
        horizon = HORIZON_SECONDS if early.is_timed else PLAIN_HORIZON_SECONDS
        until = early.virtual_seconds + horizon
        late = self._reference(until=until, masked=False)
        if not is_timed(early, late):
            return
        slow = self._reference(Plan(skipped_edits=(SLOW,)), until=until, masked=False)
        self.until, self.main, self.failures = until, late, list(late.failures)
        self.counted = counted_kinds(iter((early, late, slow)))

    @property
    def facts(self) -> Facts:
        """What the main reference did."""
        assert self.main.facts is not None
        return self.main.facts

    def _mask(self) -> None:
        """Mask the fields in which two seeds differ."""
        other = self._reference(seed=self.seed + 1, masked=False)
        for role in sorted({*self.main.end, *other.end}):
            if role not in self.main.end or role not in other.end:
                self.masks.kinds |= {role.partition(" ")[0]}
            else:
                for path in differing_paths(self.main.end[role], other.end[role]):
                    self.masks.paths.add((role, path))
        if self.masks.paths or self.masks.kinds:
            self.main = self._reference()
        self.worlds = self.main.ready

    def _envelop(self) -> None:
        found = [self.main]
        paces = ((PACED,),) if self.facts.hasty else ()
        for skipped in (*paces, *_subsets(self.facts.edits)):
            result = self._coalesced(skipped)
            self.failures += result.failures
            found.append(result)
            self.worlds.loose |= result.ready.loose
            for key, children in result.ready.children.items():
                self.worlds.children.setdefault(key, children)
        self.envelope = envelope_of(found)
        self.hasty_envelope = envelope_of([*found, *self._without_beginnings()])

    def _coalesced(self, skipped: tuple[int, ...]) -> SimulationResult:
        """Run the scenario with edits coalesced, and compare its end by O3."""

        def run_until(until: float | None) -> SimulationResult:
            result = self._reference(Plan(skipped_edits=skipped), until=until)
            if result.finished:
                compare_ends(result, self._wanted_at((), result.virtual_seconds).end, "O3")
            return result

        return compared_later(run_until, self.until)

    def _without_beginnings(self) -> Iterator[SimulationResult]:
        """Return runs in which objects are created as their first edits leave them.

        A controller that was slow sees them so.  The scenario may not work without its objects; such
        a run is left out.
        """
        edits = self.facts.edits
        if not edits:
            return
        for skipped in dict.fromkeys(((HELD_CREATE,), (HELD_CREATE, *range(edits - 1)))):
            with suppress(Exception):
                result = self._coalesced(skipped)
                if result.finished and {one.oracle for one in result.failures} <= {"O3"}:
                    self.failures += result.failures
                    yield result

    # ---------------------------------------------------------------------------- judging

    def run(self, plan: Plan, seed: int | None = None, jitter: float = 0.0) -> SimulationResult:
        """Run the scenario under a plan and compare it with its reference."""
        plan = self.resolved(plan)

        def run_until(until: float | None) -> SimulationResult:
            result = self.scenario.run(
                plan, self.seed if seed is None else seed, jitter=jitter, masks=self.masks,
                worlds=self.worlds, until=until,
            )  # fmt: skip
            self.compare(result)
            return result

        return compared_later(run_until, self.until)

    def resolved(self, plan: Plan) -> Plan:
        """Return the plan with triggers by state as numbers of writes in the main reference."""
        if not any(fault.trigger.state for fault in plan):
            return plan
        return plan.with_faults(
            PlannedFault(self._numbered(one.trigger), one.action) for one in plan
        )

    def _numbered(self, moment: Moment) -> Moment:
        if not moment.state:
            return moment
        matching = [
            number
            for number, fact in enumerate(self.facts.writes, 1)
            if fact.state == moment.state
            and moment.verb in ("", fact.verb)
            and moment.kind in ("", fact.kind)
        ]
        return write(matching[moment.number - 1]) if len(matching) >= moment.number else moment

    def compare(self, result: SimulationResult) -> None:
        """Add the failures of O1, O4 and O7 to a result."""
        if not result.finished:
            return
        kinds = {fault.action.kind for fault in result.plan}
        timed = self.timed_kinds() if "clock" in kinds else frozenset[str]()
        expected = self.expected(result)
        if timed:
            expected = {role: obj for role, obj in expected.items() if _kind(role) not in timed}
            result.end = {role: obj for role, obj in result.end.items() if _kind(role) not in timed}
        compare_ends(result, expected)
        if result.in_outage is not None:
            if self.until is not None:
                expected = self.expected(result, result.outage_seconds)
            compare_outage(result, expected, affected(result.plan, self.facts.owners))
        if not kinds & _UNSETTLING and not timed:
            compare_summaries(result, self._envelope_for(result), self.counted)
        self._check_storm(result)

    def _envelope_for(self, result: SimulationResult) -> dict[tuple[str, str], tuple[int, int]]:
        assert result.facts is not None
        return self.envelope if result.facts.begun == self.facts.begun else self.hasty_envelope

    def timed_kinds(self) -> frozenset[str]:
        """Return the kinds whose objects depend on the time of day, such as the runs of a schedule.

        They are those that differ if the clock jumps at the start; a plan in which it jumps is not
        compared by them.
        """
        if self._timed is None:
            jumped = Plan.of((time(0.0), clock(_JUMP_SECONDS)))
            other = self._reference(jumped)
            ends = [
                r
                for r in sorted({*self.main.end, *other.end})
                if self.main.end.get(r) != other.end.get(r)
            ]
            counts = [
                key[1] for key in sorted({*self.main.summary, *other.summary})
                if self.main.summary.get(key) != other.summary.get(key)
            ]  # fmt: skip
            self._timed = frozenset(map(_kind, (*ends, *counts)))
        return self._timed

    def expected(self, result: SimulationResult, at: float | None = None) -> dict[str, Json]:
        """Return the end that a run must lead to, at the time of its end or at another one.

        What the user wants at the end depends on the order of the steps, so a step of the plan is
        made at the same place between the steps of the scenario, but at rest.
        """
        assert result.facts is not None
        wants = tuple(
            PlannedFault(
                step(taken) if taken < self.facts.taken else end(), user(how, target, body)
            )
            for taken, how, target, body in result.facts.interfered
        )
        wants += tuple(
            PlannedFault(end(), fault.action)
            for fault in result.plan
            if fault.action.kind == "namespace"
        )
        return self._wanted_at(wants, result.virtual_seconds if at is None else at).end

    def _wanted_at(self, wants: tuple[PlannedFault, ...], at: float) -> SimulationResult:
        """Return the reference with further steps of the user, at a time if that makes a difference."""
        until: float | None = at
        if self.until is None or at <= self.main.virtual_seconds + _SAME_TIME_SECONDS:
            until = None
        if not wants and until is None:
            return self.main
        key = (Plan(wants), until)
        found = self._wanted.get(key)
        if found is None:
            found = self._wanted[key] = self._reference(Plan(wants), until=until)
        return found

    def _check_storm(self, result: SimulationResult) -> None:
        facts = result.facts
        assert facts is not None
        allowed = _STORM_FACTOR * len(self.facts.writes) + _STORM_BASE
        allowed += _STORM_PER_FAULT * len(result.plan)
        if result.in_outage is not None and facts.is_plain:
            allowed += int(result.virtual_seconds)  # it may try a broken part every few seconds
        if len(facts.writes) > allowed:
            message = f"{len(facts.writes)} writes; without faults {len(self.facts.writes)}"
            result.failures.append(
                SimulationFailure("O7", "writes", message, result.virtual_seconds, result)
            )


def _kind(role: str) -> str:
    return role.partition(" ")[0]


def _subsets(edits: int) -> Iterator[tuple[int, ...]]:
    """Return the edits to coalesce: all subsets that keep the last edit, the largest first."""
    optional = range(max(edits - 1, 0))
    found = [
        chosen for size in range(len(optional), 0, -1) for chosen in combinations(optional, size)
    ]
    yield from found[:COALESCED_MAX]

"""Coverage: faults are counted in the state, transition and write in which they happened."""

from typing import Any

import orjson
import pytest

from myrmidon import Controller, Done, OutputSet, Result, kinds, state
from myrmidon.cli.main import main
from myrmidon.errors import UsageError
from myrmidon.testing.campaigns.campaign import Campaign, CampaignOptions
from myrmidon.testing.campaigns.coverage import Coverage, least_share
from myrmidon.testing.campaigns.coverage_views import coverage_page, coverage_text
from myrmidon.testing.campaigns.reference_states import ReferenceStates, controllers_in
from myrmidon.testing.simulation import actions, triggers
from myrmidon.testing.simulation.plan import Plan
from myrmidon.testing.simulation.references import References
from myrmidon.testing.simulation.scenarios import Scenario, as_scenario
from tests.testing.simulation.things import Thing, Things, child, life, thing

pytest_plugins = ["pytester"]


class Forking(Controller[Thing]):
    """Has a state that only passes on, and one that is never reached."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, then="configured")
    def looked(self, obj: Thing, out: OutputSet) -> Result:
        """Writes nothing."""
        return Done()

    @state(then=("finished", "oversized"))
    def configured(self, obj: Thing, out: OutputSet) -> Result:
        """Goes on to one of two states."""
        out.apply(child("ConfigMap", obj.name))
        return Done(goto="oversized" if obj.spec.size > 1000 else "finished")

    @state()
    def finished(self, obj: Thing, out: OutputSet) -> Result:
        """The end of most walks."""
        return Done()

    @state()
    def oversized(self, obj: Thing, out: OutputSet) -> Result:
        """Is never reached."""
        return Done()


async def creation(sim: Any) -> None:
    """Create a Thing."""
    sim.controller(Things)
    await sim.user.create(thing())
    await sim.settle()


def measured(scenario: Scenario, *plans: Plan) -> Coverage:
    """Return the coverage of a few plans."""
    references = References(scenario)
    coverage = Coverage(references.main, controllers_in(scenario))
    for plan in plans:
        coverage.take(references.run(plan))
    return coverage


def test_faults_are_counted_where_they_happen() -> None:
    """The third write of the life of a Thing is its Secret, in the state ``secured``."""
    coverage = measured(
        as_scenario(life),
        Plan.of((triggers.write(2), actions.crash("after"))),
        Plan.of((triggers.write(3), actions.lost())),
        Plan.of((triggers.write(verb="create", kind="Secret"), actions.applied_then("reset"))),
        Plan.of((triggers.end(), actions.crash("after"))),
        Plan.of((triggers.write(900), actions.lost())),
        Plan.of((triggers.write(3), actions.hold("Secret", 5.0))),
    )
    assert coverage.runs == 6
    assert coverage.states.runs("configured", "crash") == 1
    assert coverage.states.runs("secured", "lost") == 1
    assert coverage.states.runs("secured", "applied_then") == 1
    assert coverage.states.runs("released", "crash") == 1
    assert coverage.sites.runs("configured: create ConfigMap", "crash after") == 1
    assert coverage.sites.runs("secured: create Secret", "applied_then") == 1
    assert coverage.transitions.runs("configured → secured", "crash") == 1
    assert coverage.transitions.runs("configured → secured", "ambiguous") == 0
    assert coverage.views.runs("Secret", "hold") == 1
    assert sum(cell.runs for cell in coverage.states.cells.values()) == 5, "one had no effect"
    assert coverage.unreached == []
    assert ("configured", "lost") in coverage.open_cells
    assert 0 < coverage.share < 1
    assert ("Configured", "True", "Done") in coverage.reasons


def test_states_that_are_never_reached_are_listed() -> None:
    """And a state that only passes on is not one of them, and needs no faults of its own."""

    async def created(sim: object) -> None:
        sim.controller(Forking)  # type: ignore[attr-defined]
        await sim.user.create(thing())  # type: ignore[attr-defined]
        await sim.settle()  # type: ignore[attr-defined]

    coverage = measured(as_scenario(created))
    assert coverage.unreached == ["oversized"]
    assert {row for row, _ in coverage.open_cells} == {"configured", "finished", "oversized"}
    assert "states that were never reached: oversized" in coverage_text(coverage)


def test_moments_of_the_reference() -> None:
    """Events, times and the end belong to a state as well."""
    references = References(as_scenario(life))
    at = ReferenceStates(references.main, [Things])
    assert at.at(triggers.event("Thing", 1)) == "(beginning)"
    assert at.at(triggers.event("Secret", 1)) in ("secured", "configured")
    assert at.at(triggers.event("Secret", 99)) == "released"
    assert at.at(triggers.time(10_000.0)) == "released"
    assert at.at(triggers.time(-1.0)) == "(beginning)"
    assert at.write_number(triggers.write(kind="Pod")) is None


def test_the_three_forms_say_the_same() -> None:
    """Terminal, JSON and HTML."""
    coverage = measured(as_scenario(life), Plan.of((triggers.write(2), actions.crash("after"))))
    text, page = coverage_text(coverage), coverage_page(coverage)
    document = orjson.loads(orjson.dumps(coverage.to_json()))
    assert document["states"]["cells"]["configured"] == {"crash": {"passed": 1, "failed": 0}}
    assert document["share"] == pytest.approx(coverage.share, abs=1e-4)
    for part in ("configured → secured", "secured: create Secret", "never tried: lost in secured"):
        assert part in text
    assert '<td class="">configured: create ConfigMap</td>' in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_campaign_covers_if_it_is_asked_to() -> None:
    """The coverage begins with the first run that has a fault."""
    options = CampaignOptions("ci", seeds=0, faults="crash")
    campaign = Campaign(as_scenario(life), options, covers=True)
    campaign.explore(1, shrink=False)
    assert campaign.coverage is not None
    assert campaign.coverage.states.runs("secured", "crash") > 1
    assert {kind for _, kind in campaign.coverage.open_cells} == {"lost", "applied_then", "reply"}


def test_only_chosen_faults_are_tried_also_in_pairs() -> None:
    """At depth two, every fault of every plan is of a chosen kind."""
    seen: list[Plan] = []
    options = CampaignOptions("ci", seeds=3, depth=2, faults="crash,lost")
    campaign = Campaign(as_scenario(creation), options, lambda result: seen.append(result.plan))
    campaign.explore(1, shrink=False)
    assert {fault.action.kind for plan in seen for fault in plan} == {"crash", "lost"}
    assert max(map(len, seen)) >= 2
    assert campaign.coverage is None


def test_too_little_coverage_fails(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    """In pytest and on the command line; both store it in the report directory."""
    pytester.makepyfile(
        """
        from myrmidon.testing import scenario
        from tests.testing.simulation.things import growth

        test_growth = scenario(growth)
        """
    )
    chosen = ("--sim-faults=crash", "--sim-seeds=0", "--sim-report=out")
    failed = pytester.runpytest_inprocess(*chosen, "--sim-min-cells=95%")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*never tried: lost in secured*"])
    assert sorted(path.name for path in (pytester.path / "out").iterdir()) == [
        "test_growth-coverage.html", "test_growth-coverage.json",
    ]  # fmt: skip
    pytester.runpytest_inprocess(*chosen, "--sim-min-cells=10%").assert_outcomes(passed=1)


def test_coverage_on_the_command_line(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables are printed; a share that is not one is a wrong argument."""
    target = "examples/config_copy"
    assert main(["simulate", target, "--min-cells", "many"]) == 2
    assert "'many' is not a share" in capsys.readouterr().err
    options = ["--budget", "0.2s", "--coverage", "--min-cells", "100%", "--report", str(tmp_path)]
    assert main(["simulate", target, f"{target}/sample.yaml", *options]) == 1
    told = capsys.readouterr().out
    assert "write sites" in told
    assert "--min-cells asks for 100%" in told


@pytest.mark.parametrize(("text", "share"), [("95%", 0.95), ("0.5", 0.5), ("1", 1.0)])
def test_shares(text: str, share: float) -> None:
    """In percent or as a number."""
    assert least_share(text) == pytest.approx(share)
    with pytest.raises(UsageError):
        least_share("120%")

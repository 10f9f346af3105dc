"""Each safeguard of the framework, switched off, is noticed by the simulator."""

import pytest

from myrmidon.testing.simulation import Plan, Scenario
from myrmidon.testing.simulation.references import References
from tests.testing.simulation.ablations import ABLATIONS, Ablation, Noticed, notices
from tests.testing.simulation.write_ablations import PAGE, page, read

FOUND = {one.safeguard: one for one in read()}
PAIRS = [
    pytest.param(ablation, FOUND[ablation.safeguard], id=ablation.safeguard)
    for ablation in ABLATIONS
    if ablation.safeguard in FOUND and FOUND[ablation.safeguard].oracle
]


def test_at_least_fifteen_safeguards_are_noticed() -> None:
    """And the stored plans are those of the safeguards that exist."""
    assert list(FOUND) == [ablation.safeguard for ablation in ABLATIONS]
    assert len(PAIRS) >= 15


def test_the_page_shows_what_was_found() -> None:
    """The table of the documentation is written from the stored plans."""
    assert PAGE.read_text(encoding="utf-8") == page(list(FOUND.values()))


@pytest.mark.parametrize(("ablation", "found"), PAIRS)
def test_an_ablation_is_noticed(ablation: Ablation, found: Noticed) -> None:
    """Under the stored plan, by the same oracle."""
    assert found.oracle in notices(ablation, found)


@pytest.mark.parametrize(("ablation", "found"), PAIRS)
def test_the_same_plan_raises_no_alarm_with_the_safeguard(
    ablation: Ablation, found: Noticed
) -> None:
    """It is the safeguard that was noticed, and not the plan."""
    references = References(Scenario(ablation.scenarios[found.scenario]))
    assert not references.failures
    plan = Plan.from_json(found.plan)
    assert not references.run(plan).failures if plan else True

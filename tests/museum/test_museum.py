"""Twenty known bugs of controllers are found, by the right oracle, and their corrections are clean.

``python -m tests.museum`` examines the corrections under 100,000 plans; here each gets a sample.
"""

import pytest

from tests.museum.catalogue import EXHIBITS
from tests.museum.kit import Exhibit
from tests.museum.visits import Twin, find

PLANS_MAX = 25
NAMES = [exhibit.name for exhibit in EXHIBITS]


def test_there_are_twenty_exhibits_with_public_sources() -> None:
    """Each is numbered, and names the report of its bug."""
    assert [name.partition(" ")[0] for name in NAMES] == [f"E{number}" for number in range(1, 21)]
    assert all("/" in exhibit.source or "#" in exhibit.source for exhibit in EXHIBITS)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_the_bug_is_found_by_the_right_oracle(exhibit: Exhibit) -> None:
    """Within 2,000 runs, by an oracle that names it."""
    finding = find(exhibit)
    assert finding.found, f"{finding.oracle or 'nothing'} after {finding.runs} runs"


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_the_correction_raises_no_alarm(exhibit: Exhibit) -> None:
    """Under plans of depth one, spread over all of them."""
    twin = Twin(exhibit)
    twin.sample(PLANS_MAX)
    assert not twin.failures, twin.failures[0].story()

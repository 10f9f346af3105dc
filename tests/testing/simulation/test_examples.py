"""The examples and the framework's own scenarios survive every fault: a part of the plans in each run.

``PART`` takes every n-th plan of an exploration; ``shard=(0, 1)`` explores all of them, which takes
minutes.
"""

import pytest

from myrmidon.testing import explore
from tests.testing.simulation.shipped import SHIPPED

PART = (3, 30)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scenario_is_clean(name: str) -> None:
    """No oracle finds a violation under any plan of this part."""
    explore(SHIPPED[name], budget="ci", shard=PART).check()

"""Oracles: what must hold in every run, whatever fails.

endings        O1, O3   the end is that of a run without faults, whatever the way
"""

__all__ = ["judge"]

from myrmidon.testing.simulation.oracles.judging import judge

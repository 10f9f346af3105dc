"""Runs machines against servers: queue, workers, manager, leadership."""

from myrmidon.runtime.election import Terms
from myrmidon.runtime.manager import Manager
from myrmidon.runtime.metrics import Metrics
from myrmidon.runtime.options import ManagerOptions

__all__ = ["Manager", "ManagerOptions", "Metrics", "Terms"]

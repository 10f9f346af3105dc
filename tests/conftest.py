"""What all tests share.

Hypothesis repeats itself, so that a failure is one on every machine; ``HYPOTHESIS_PROFILE=explore`` draws
new examples, and more of them; ``fast`` draws ten, for `make check-fast`.  A command that configures the log does not change that of later tests.
"""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=10)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(autouse=True)
def log_of_its_own() -> Iterator[None]:
    """Undo what ``runtime.logs.configure`` did in a test: handlers, level and propagation."""
    logger = logging.getLogger("myrmidon")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate

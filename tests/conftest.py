"""What all tests share: Hypothesis repeats itself, so that a failure is one on every machine.

``HYPOTHESIS_PROFILE=explore`` draws new examples, and more of them.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile(
    "explore",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

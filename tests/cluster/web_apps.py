"""The web application of ``tests.runtime.webapps``, as its life is followed on a real server.

No kubelet makes Deployments available here, and no state waits for one.
"""

from datetime import timedelta

from myrmidon.fsm import ControllerOptions
from tests.runtime import webapps
from tests.runtime.webapps import WebApp

__all__ = ["WebApp", "WebApps"]


class WebApps(webapps.WebApps):
    """Runs web applications, with a backoff that a test in real time can wait for."""

    options = ControllerOptions(
        prune=True, retry_min=timedelta(seconds=0.2), retry_max=timedelta(seconds=2)
    )

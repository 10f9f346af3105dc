"""Write the answers of a real control plane to requests under quotas and limits.

python -m tests.cluster.record_limits
"""

import json
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.apiserver.admission.limit_scenarios import SCENARIOS, Json, play
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.controlplane import CONTROLLERS, ControlPlane

RECORDED = Path(__file__).parents[1] / "apiserver/admission/recorded_limits.json"
QUOTA_CONTROLLER = "resourcequota-controller"
STEADY_SECONDS = 1.0


class Real:
    """A namespace of a control plane with the quota controller, as a partner of a scenario."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client, self.namespace = plane.client(), f"limits-{uuid4().hex[:8]}"
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def ask(self, method: str, path: str, body: Any) -> tuple[int, Json]:
        """Answer a request."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self._client.request(method, path, body, kind)
        return answer.status, answer.body

    def quotas(self) -> list[Json]:
        """Return the quotas of the namespace when the controller has counted: nothing changes any more."""
        path = f"/api/v1/namespaces/{self.namespace}/resourcequotas"
        last, since = self.ask("GET", path, None)[1]["items"], time.monotonic()
        while last and time.monotonic() < since + STEADY_SECONDS:
            threading.Event().wait(0.1)
            found = self.ask("GET", path, None)[1]["items"]
            if found != last:
                last, since = found, time.monotonic()
        return list(last)


def record(plane: ControlPlane, scenario: str) -> list[Json]:
    """Run a scenario on a control plane."""
    real = Real(plane)
    answers = play(real.ask, real.quotas, real.namespace, SCENARIOS[scenario])
    real.ask("DELETE", f"/api/v1/namespaces/{real.namespace}", None)
    return answers


def main() -> None:
    """Record all scenarios."""
    with ControlPlane(find(), controllers=(*CONTROLLERS, QUOTA_CONTROLLER)) as plane:
        recorded = {scenario: record(plane, scenario) for scenario in SCENARIOS}
    RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

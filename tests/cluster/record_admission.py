"""Record what a real API server answers to writes that admission policies look at.

``python -m tests.cluster.record_admission`` writes ``tests/apiserver/admission/recorded.json``, which the
default tests compare the embedded server with.
"""

import json
import tempfile
from pathlib import Path

from tests.apiserver.admission.policy_cases import recorded_asks, steady
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.test_admission_policies import policy_twins

RECORDED = Path(__file__).parents[1] / "apiserver" / "admission" / "recorded.json"


def main() -> None:
    """Ask a real server, and write its answers."""
    answers = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(find()) as plane,
        policy_twins(plane, Path(folder)) as twins,
    ):
        for title, ask in recorded_asks().items():
            answer = twins.real(ask).answer
            answers[title] = [answer.status, steady(answer.body), answer.warnings]
    RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

"""Write what a kube-apiserver says about the objects in ``tests/apiserver/builtin/odd_objects.json``.

    python -m tests.cluster.record_odd_objects

The file has a path and a body for each object; each is created in a dry run, and the status, the
message and the warnings are written beside it.
"""

import json
from pathlib import Path
from typing import Any

from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.twins import Answer, Ask, Twins

RECORDED = Path(__file__).parents[1] / "apiserver/builtin/odd_objects.json"
DRY = (("dryRun", "All"),)


def asked(case: dict[str, Any]) -> Ask:
    """Return the request of a case."""
    return Ask("POST", case["path"], case["body"], query=DRY)


def said(answer: Answer) -> dict[str, Any]:
    """Return the status of an answer, the message of a failure, and the warnings."""
    message = answer.body.get("message", "") if answer.body.get("kind") == "Status" else ""
    return {"status": answer.status, "message": message, "warnings": sorted(answer.warnings)}


def main() -> None:
    """Ask about all objects."""
    cases = json.loads(RECORDED.read_text())
    with ControlPlane(find()) as plane:
        twins = Twins(plane, ApiServer())
        for case in cases.values():
            case["answer"] = said(twins.ask(asked(case))[0])
    RECORDED.write_text(json.dumps(cases, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

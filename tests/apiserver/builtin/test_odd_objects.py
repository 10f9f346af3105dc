"""Odd objects of built-in kinds: refusals and warnings, as kube-apiserver answered."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.server import ApiServer

CASES = json.loads((Path(__file__).parent / "odd_objects.json").read_text())
SERVER = ApiServer()


def answer(method: str, path: str, body: Any, query: Any = (), kind: str = "json") -> Any:
    """Return the status, the message of a failure, and the warnings."""
    headers = {"content-type": f"application/{kind}", "accept": "application/json"}
    found = SERVER.answer(HttpRequest(method, path, query, headers, orjson.dumps(body)))
    assert isinstance(found, HttpResponse)
    said = orjson.loads(found.body)
    message = said.get("message", "") if said.get("kind") == "Status" else ""
    warnings = sorted(value for name, value in found.headers if name == "warning")
    return {"status": found.status, "message": message, "warnings": warnings}


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_object(name: str) -> None:
    """The status, the message and the warnings are those of the real server."""
    case = CASES[name]
    assert answer("POST", case["path"], case["body"], (("dryRun", "All"),)) == case["answer"]


def test_a_warning_is_repeated_only_if_the_spec_changes() -> None:
    """An update that touches only metadata of a Deployment, and any update of a pod, warn of nothing."""
    deployment = CASES["dep-env"]
    path = f"{deployment['path']}/w"
    answer("POST", deployment["path"], deployment["body"])
    label = {"metadata": {"labels": {"x": "y"}}}
    assert answer("PATCH", path, label, kind="merge-patch+json")["warnings"] == []
    scaled = {"spec": {"replicas": 3}}
    assert len(answer("PATCH", path, scaled, kind="merge-patch+json")["warnings"]) == 1
    pod = CASES["dup-env"]
    answer("POST", pod["path"], pod["body"])
    assert answer("PATCH", f"{pod['path']}/w", label, kind="merge-patch+json")["warnings"] == []

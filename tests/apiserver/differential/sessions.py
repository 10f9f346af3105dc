"""Recorded sessions: requests, and what the real server answered to each of them.

A session is a list of steps in a namespace and an API group of its own.  ``${name}`` in a request is
a value that an earlier answer had, so that the same session runs on both servers.  A step that is
marked ``unowned`` is compared without
managedFields, which the real server's controllers write at times of their own.  A step marked
``differs`` is one that our server is known to answer in another way; the test wants the mark to be true, so that the
marks are a list of what is missing.
"""

import base64
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import MASTERS, User
from tests.apiserver.conformance import places
from tests.apiserver.conformance.scenarios import definitions, whole_definition
from tests.apiserver.conformance.variables import filled
from tests.apiserver.differential.pairing import Pairing

FILE = Path(__file__).parent / "sessions.json.gz"
USERS = {
    "admin-token": User("admin", (MASTERS,), "admin"),
    "dev-token": User("dev", ("devs",), "dev"),
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_COMPARED_HEADERS = ("content-type", "warning", "retry-after")


class Line(Protocol):
    """A server to which a session sends its requests."""

    def send(self, request: HttpRequest) -> HttpResponse:
        """Return the response to a request."""
        ...

    def events(self, request: HttpRequest, until: str) -> list[Any]:
        """Return the events of a watch, up to the first one for an object of that name."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """Steps that build on one another."""

    name: str
    id: str  # of the run that was recorded; in the names of the namespace and the group
    crds: list[Any]
    steps: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.name


def read_sessions() -> list[Session]:
    """Read all recorded sessions."""
    return [Session(**each) for each in json.loads(gzip.decompress(FILE.read_bytes()))]


def write_sessions(sessions: list[Session]) -> None:
    """Write recorded sessions."""
    found = [
        {"name": each.name, "id": each.id, "crds": each.crds, "steps": each.steps}
        for each in sessions
    ]
    FILE.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))


class Run:
    """A session on one server."""

    def __init__(
        self, session: Session, line: Line, run_id: str = "", *, namespace: str = ""
    ) -> None:
        run_id = run_id or session.id
        namespace = namespace or run_id
        self._line = line
        self.values: dict[str, Any] = {
            "id": run_id,
            "ns": namespace,
            "group": f"{run_id}.example.com",
            "core": f"/api/v1/namespaces/{namespace}",
            "apps": f"/apis/apps/v1/namespaces/{namespace}",
            "custom": f"/apis/{run_id}.example.com/v1/namespaces/{namespace}",
            "crds": CRDS,
        }

    def prepare(self, crds: list[Any]) -> None:
        """Create the namespace and the definitions of the session."""
        self._create("/api/v1/namespaces", {"metadata": {"name": "${ns}"}})
        for short in crds:
            whole = definitions()[short] if isinstance(short, str) else short
            self._create(CRDS, whole_definition(whole))

    def _create(self, path: str, body: Any) -> None:
        headers = {"authorization": "Bearer admin-token", "content-type": "application/json"}
        answer = self.answer({"method": "POST", "path": path, "body": body, "headers": headers})
        assert answer.status == 201, answer.body

    def answer(self, step: dict[str, Any]) -> HttpResponse:
        """Take a step, and keep the values that later ones refer to."""
        answer = self._line.send(self._request(step))
        if step.get("capture"):
            document = _document(answer.body)
            for name, path in step["capture"].items():
                self.values[name] = places.first(document, path)
        return answer

    def events(self, step: dict[str, Any]) -> list[Any]:
        """Take a step that is a watch."""
        return self._line.events(self._request(step), step["until"])

    def _request(self, step: dict[str, Any]) -> HttpRequest:
        path, query = (
            filled(step["path"], self.values),
            filled(step.get("query", []), self.values),
        )
        return HttpRequest(
            step["method"],
            path,
            tuple((key, str(value)) for key, value in query),
            {"accept": "application/json", "user-agent": "golden/1.0"} | step.get("headers", {}),
            self._body(step),
        )

    def _body(self, step: dict[str, Any]) -> bytes:
        if "raw" in step:
            return base64.b64decode(step["raw"])
        return json.dumps(filled(step["body"], self.values)).encode() if "body" in step else b""


def recorded(answer: HttpResponse) -> dict[str, Any]:
    """Return a response as the file has it."""
    headers = [list(each) for each in answer.headers if each[0] in _COMPARED_HEADERS]
    return {
        "status": answer.status,
        "headers": headers,
        "body": answer.body.decode(errors="replace"),
    }


def differences(pairing: Pairing, step: dict[str, Any], run: Run) -> list[str]:
    """Return the differences of our server's response."""
    if "until" in step:
        return pairing.event_differences(step["events"], run.events(step))
    kept = step["answer"]
    headers = tuple((name, value) for name, value in kept["headers"])
    real = HttpResponse(kept["status"], headers, kept["body"].encode())
    return pairing.differences(real, run.answer(step), managed_fields=not step.get("unowned"))


def _document(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None

"""Sends the same requests to the embedded server and to a real one.

Values that differ without any meaning (uids, times, revisions) are bound: a pair of values is
recorded when it first appears, and from then on they must appear together.
"""

import json
import re
from http.client import HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.controlplane import ControlPlane

_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
# Failures whose messages are part of the contract.
_EXACT = frozenset({"NotFound", "AlreadyExists", "Conflict", "Expired", "MethodNotAllowed"})


class Answer(NamedTuple):
    """The response of one server."""

    status: int
    body: Any
    warnings: list[str]


class Ask(NamedTuple):
    """A request for both; ``{rv:name}`` in a text is the revision that each server has for it."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    query: tuple[tuple[str, str], ...] = ()


class Twins:
    """Sends to both, and returns the differences."""

    def __init__(self, plane: ControlPlane, embedded: ApiServer) -> None:
        self._plane, self._embedded = plane, embedded
        self._theirs: dict[str, str] = {}  # values of the real server to ours
        self._ours: dict[str, str] = {}  # and back

    def ask(self, real: Ask, embedded: Ask | None = None) -> tuple[Answer, Answer, list[str]]:
        """Send a request (or one each) to both."""
        theirs, ours = self._ask_real(real), self._ask_embedded(embedded or real)
        return theirs, ours, self.differences(theirs, ours)

    def _ask_real(self, ask: Ask) -> Answer:
        client = self._plane.client()
        connection = HTTPSConnection("127.0.0.1", client.port, timeout=30, context=client._context)
        target = ask.path + (f"?{urlencode(ask.query)}" if ask.query else "")
        text = None if ask.body is None else json.dumps(ask.body)
        try:
            connection.request(
                ask.method,
                target,
                text,
                _headers(ask) | {"Authorization": f"Bearer {client.token}"},
            )
            answer = connection.getresponse()
            read = answer.read()
            return Answer(answer.status, _parsed(read), answer.headers.get_all("Warning") or [])
        finally:
            connection.close()

    def _ask_embedded(self, ask: Ask) -> Answer:
        text = b"" if ask.body is None else json.dumps(ask.body).encode()
        headers = {key.lower(): value for key, value in _headers(ask).items()}
        request = HttpRequest(ask.method, ask.path, ask.query, headers, text)
        outcome = self._embedded.answer(request)
        self._embedded.settle()
        if isinstance(outcome, OpenWatch):
            lines = b"\n".join(outcome.take())
            return Answer(200, _parsed(lines), [])
        assert isinstance(outcome, HttpResponse)
        warnings = [value for key, value in outcome.headers if key == "warning"]
        return Answer(outcome.status, _parsed(outcome.body), warnings)

    # ------------------------------------------------------------------------- comparing

    def differences(self, theirs: Answer, ours: Answer) -> list[str]:
        """Return the differences, in words."""
        if theirs.status != ours.status:
            return [f"status: {theirs.status} {theirs.body} is {ours.status} {ours.body} here"]
        found: list[str] = []
        if sorted(theirs.warnings) != sorted(ours.warnings):
            found.append(f"warnings: {theirs.warnings} is {ours.warnings} here")
        self._compare(_comparable(theirs.body), _comparable(ours.body), "", found)
        return found

    def _compare(self, theirs: Any, ours: Any, path: str, found: list[str]) -> None:
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key in sorted(theirs.keys() | ours.keys()):
                if key not in theirs or key not in ours:
                    found.append(
                        f"{path}.{key}: {theirs.get(key, 'absent')} is {ours.get(key, 'absent')} here"
                    )
                else:
                    self._compare(theirs[key], ours[key], f"{path}.{key}", found)
        elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
            if path.endswith("managedFields"):  # their order depends on the time
                theirs, ours = sorted(theirs, key=_entry_key), sorted(ours, key=_entry_key)
            for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
                self._compare(one, other, f"{path}[{index}]", found)
        elif isinstance(theirs, str) and isinstance(ours, str):
            self._compare_texts(theirs, ours, path, found)
        elif type(theirs) is not type(ours) or theirs != ours:
            found.append(f"{path}: {theirs!r} is {ours!r} here")

    def _compare_texts(self, theirs: str, ours: str, path: str, found: list[str]) -> None:
        if path.endswith("resourceVersion"):
            known = self._theirs.setdefault(theirs, ours), self._ours.setdefault(ours, theirs)
            if known != (ours, theirs):
                found.append(f"{path}: {theirs} was {known[0]} and is {ours} here")
                self._theirs[theirs], self._ours[ours] = ours, theirs  # report it once
        elif _steady(theirs) != _steady(ours):
            found.append(f"{path}: {theirs!r} is {ours!r} here")


def _headers(ask: Ask) -> dict[str, str]:
    headers = {"Accept": "application/json", "User-Agent": "twins/1.0"}
    return headers if ask.body is None else headers | {"Content-Type": ask.content_type}


def _parsed(read: bytes) -> Any:
    text = read.decode()
    try:
        if '"object":' in text:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except ValueError:
        return text


def _steady(text: str) -> str:
    return _TIME.sub("<time>", _UID.sub("<uid>", text))


def _entry_key(entry: Any) -> tuple[str, ...]:
    names = ("operation", "manager", "apiVersion", "subresource")
    return tuple(str(entry.get(name, "")) for name in names)


def _comparable(body: Any) -> Any:
    """Return the response without versions of lists, order of causes and most texts of failures."""
    if not isinstance(body, dict):
        return body
    if "items" in body:
        metadata = {
            key: value for key, value in body["metadata"].items() if key != "resourceVersion"
        }
        if metadata.get("continue"):
            metadata["continue"] = "<token>"
        return body | {"metadata": metadata}
    if body.get("kind") != "Status" or body.get("status") == "Success":
        return body
    body = dict(body)
    if body.get("reason") not in _EXACT:
        body.pop("message", None)
    details = dict(body.get("details") or {})
    if "causes" in details:
        causes = {(cause.get("field"), cause.get("reason")) for cause in details["causes"]}
        details["causes"] = sorted([list(map(str, cause)) for cause in causes])
    return body | {"details": details}

"""A connection to each of the two servers: one request, one response, nothing concurrent."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.requests.outcomes import WaitFor
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.verbs.dispatch import failed

PANIC = 0  # the status of a request on which the real server closes the connection
_PATH_LETTERS = "/%:@!$&'()*+,;=~"


class RealLine:
    """A kube-apiserver behind one connection that is kept open."""

    def __init__(self, port: int, ca: Path) -> None:
        self._context = ssl.create_default_context(cafile=ca)
        self._port = port
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._context, timeout=30
        )

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and read the whole response."""
        for _ in range(2):
            try:
                return self._send(request)
            except (http.client.RemoteDisconnected, ConnectionError):
                self._connection.close()  # the server closes after some refusals
        return HttpResponse(PANIC)

    def _send(self, request: HttpRequest) -> HttpResponse:
        self._connection.request(
            request.method, _target(request), request.body or None, dict(request.headers)
        )
        answer = self._connection.getresponse()
        headers = tuple((name.lower(), value) for name, value in answer.getheaders())
        return HttpResponse(answer.status, headers, answer.read())

    def events(self, request: HttpRequest, until: str) -> list[Any]:
        """Return the events of a watch up to one for an object of that name."""
        connection = self._connect()
        try:
            connection.request("GET", _target(request), headers=dict(request.headers))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            events: list[Any] = []
            while not events or not _is_end(events[-1], until):
                line = answer.readline()
                assert line, f"the watch ended before {until}"
                events.append(json.loads(line))
            return [event for event in events if event["type"] != "BOOKMARK"]
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class OwnLine:
    """Our server, in the same thread."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and let the server settle."""
        outcome = self._server.answer(request)
        self._server.settle()
        if isinstance(outcome, WaitFor):
            return failed(outcome.failure)
        if isinstance(outcome, OpenWatch):
            return HttpResponse(
                200, outcome.headers, b"".join(line + b"\n" for line in outcome.take())
            )
        assert isinstance(outcome, HttpResponse), outcome
        if request.method == "HEAD":
            return HttpResponse(outcome.status, outcome.headers)
        return outcome

    def events(self, request: HttpRequest, until: str) -> list[Any]:
        """Return the events of a watch so far."""
        watch = self._server.answer(request)
        assert isinstance(watch, OpenWatch), watch
        events = [json.loads(line) for line in watch.take()]
        assert events, f"no events, and so none of {until}: {request}"
        assert _is_end(events[-1], until), events[-1]
        return [event for event in events if event["type"] != "BOOKMARK"]

    def close(self) -> None:
        """Nothing to let go of."""


def _target(request: HttpRequest) -> str:
    query = f"?{urlencode(request.query)}" if request.query else ""
    return quote(request.path, safe=_PATH_LETTERS) + query


def _is_end(event: Any, until: str) -> bool:
    return event["type"] == "ERROR" or (event["object"].get("metadata") or {}).get("name") == until

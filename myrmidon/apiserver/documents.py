"""Paths that are not about a resource: versions, health, discovery."""

from myrmidon.api.wire import HttpRequest, HttpResponse
from myrmidon.apiserver import encoding
from myrmidon.apiserver.call import Core

_JSON = (("content-type", "application/json"),)
_TEXT = (("content-type", "text/plain; charset=utf-8"),)
VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.4",
    "gitCommit": "myrmidon",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}


def document(core: Core, request: HttpRequest, query: dict[str, str]) -> HttpResponse | None:
    """The answer to a path without a resource; None if there is none."""
    path = request.path.rstrip("/")
    if path == "/version":
        return HttpResponse(200, _JSON, encoding.encode(VERSION))
    if path.startswith(("/healthz", "/livez", "/readyz")):
        return HttpResponse(200, _TEXT, b"ok")
    return None

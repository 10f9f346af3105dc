"""Trace: everything that happened in a run, as tuples, and the hash of it.

A run appends tuples and formats nothing; ``story`` turns them into sentences when a run failed.  The
hash covers every request with its body, every delivery, every commit and every fault, with virtual
times: two runs with the same scenario, seed and plan have the same hash, in any process.
"""

import marshal
from hashlib import blake2b
from typing import Any, NamedTuple

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.testing.simulation.requests import RequestSubject

_NO_REFERENCES = 2  # a marshal format whose bytes do not depend on which objects are shared


class Exchanged(NamedTuple):
    """A request of a process, and what became of it."""

    at: float
    process: int
    incarnation: int
    subject: RequestSubject
    request: HttpRequest
    outcome: str  # "200", "lost", "timeout after it was applied", ...
    answer: HttpResponse | None
    revision: int  # of the store, after the request
    before: int = 0  # the revision before it


class Delivered(NamedTuple):
    """A watch event that a process received."""

    at: float
    process: int
    incarnation: int
    kind: str
    line: bytes
    stream: int = 0  # the number of the watch


class Happened(NamedTuple):
    """A fault, a step of the user, or the start or end of a process."""

    at: float
    who: str
    what: str
    detail: str = ""


class Commit(NamedTuple):
    """A change of the store: its revision, when, and who made it (``writer``)."""

    revision: int
    at: float
    writer: str
    process: int  # -1 if no process of a controller wrote it
    incarnation: int


class Trace:
    """What happened in one run, in order."""

    def __init__(self) -> None:
        self.entries: list[Exchanged | Delivered | Happened] = []
        self.commits: list[Commit] = []

    def digest(self) -> str:
        """Return the hash of the trace."""
        hashed = blake2b(digest_size=16)
        for entry in self.entries:
            hashed.update(marshal.dumps(_plain(entry), _NO_REFERENCES))
        commits = [(one[0], _microseconds(one[1]), *one[2:]) for one in self.commits]
        hashed.update(marshal.dumps(commits, _NO_REFERENCES))
        return hashed.hexdigest()

    def exchanges(self) -> list[Exchanged]:
        """Return the requests of the controllers."""
        return [one for one in self.entries if type(one) is Exchanged]


def _plain(entry: Any) -> tuple[Any, ...]:
    at = _microseconds(entry.at)
    if type(entry) is Exchanged:
        method, path, query, _, body = entry.request
        rest = (entry.process, entry.incarnation, method, path, query, body)
        return (at, *rest, entry.outcome, entry.revision)
    return (at, *entry[1:])


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)

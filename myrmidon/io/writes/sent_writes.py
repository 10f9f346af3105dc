"""SentWrite: one write that an applicator sent; WriteSink: where each of them is noted.

An applicator works for many passes at once and does not know for which one it writes.  So it asks for
the sink of the running pass at each write, and appends the parts of the write as a plain tuple: a
program that records every pass pays for no more than that while the pass runs.  What needs a value to
pass around makes a ``SentWrite`` of the parts.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.request import Request
from myrmidon.errors import MyrmidonError
from myrmidon.io.client import is_ambiguous

WriteParts: TypeAlias = tuple[str, str, Request, Json | None, Json | None, str, bool]
"""The fields of a ``SentWrite``, in its order."""


class SentWrite(NamedTuple):
    """One write and its answer.  Without an answer it was refused, or its outcome is unknown."""

    by: str  # the author of the pass, ``controller:key``; "" outside a pass
    author: str  # ``controller.state`` of an output; "" for the finalizer, the status and the like
    request: Request
    before: Json | None  # the object before the write; None if it did not exist
    answer: Json | None = None
    error: str = ""
    unknown: bool = False  # it failed, but may have taken effect

    @property
    def state(self) -> str:
        """The state whose output it is; "" for the finalizer, the status and the like."""
        return state_in(self.author)


class WriteSink(Protocol):
    """Where the writes of one pass are noted, such as a list."""

    @property
    def append(self) -> Callable[[WriteParts], Any]:
        """Note a write, as soon as its answer or its error is there."""


FindSink: TypeAlias = Callable[[], WriteSink]
"""Returns the sink of the running pass."""


def failure_of(error: BaseException) -> tuple[str, bool]:
    """Return the text of the error of a write, and whether the write may have taken effect."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled", True
    return str(error), isinstance(error, MyrmidonError) and is_ambiguous(error)


def state_in(author: str) -> str:
    """Return the state in the author of an output, ``controller.state``."""
    return author.partition(".")[2]

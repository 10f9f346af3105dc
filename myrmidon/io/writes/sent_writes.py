"""SentWrite: one write that an applicator sent, as its listeners are told of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.request import Request
from myrmidon.errors import MyrmidonError
from myrmidon.io.client import is_ambiguous


class SentWrite(NamedTuple):
    """One write and its answer.  Without an answer it was refused, or its outcome is unknown."""

    by: str  # the author of the pass, ``controller:key``; "" outside a pass
    state: str  # the state whose output it is; "" for the finalizer, the status and the like
    request: Request
    before: Json | None  # the cached object before the write; None if it did not exist
    answer: Json | None = None
    error: str = ""
    unknown: bool = False  # it failed, but may have taken effect


WriteListener: TypeAlias = Callable[[SentWrite], None]


async def told(
    listeners: Sequence[WriteListener], sent: SentWrite, sending: Awaitable[Json]
) -> Json:
    """Return the answer of a write, after the listeners were told of it or of its error."""
    ending = sent
    try:
        answer = await sending
        ending = SentWrite(sent.by, sent.state, sent.request, sent.before, answer)
    except MyrmidonError as error:
        ending = sent._replace(error=str(error), unknown=is_ambiguous(error))
        raise
    except asyncio.CancelledError:
        ending = sent._replace(error="cancelled", unknown=True)
        raise
    finally:
        for listener in listeners:
            listener(ending)
    return answer

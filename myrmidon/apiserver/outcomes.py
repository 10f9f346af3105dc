"""What may come of a request: an answer, a watch, or an event that has to be waited for first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.call import Draws
from myrmidon.apiserver.failures import Failure
from myrmidon.apiserver.watches import OpenWatch

WAIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Ask again when the store has reached a revision; give up with ``failure``."""

    revision: int
    failure: Failure
    seconds: float = WAIT_SECONDS


@dataclass(frozen=True, slots=True)
class Question:
    """Ask a webhook, then ask again with its reply."""

    key: str
    question: Mapping[str, Any]
    draws: Draws  # what the request has drawn so far; its next run draws the same


Outcome: TypeAlias = HttpResponse | OpenWatch | WaitFor | Question

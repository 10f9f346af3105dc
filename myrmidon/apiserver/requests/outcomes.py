"""The possible outcomes of a request: a response, a watch, or a condition to wait for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.requests.call import Draws
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.resources.conversions import ConversionNeeded

WAIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Run the request again when the store has reached ``revision``; after ``seconds``, fail."""

    revision: int
    failure: Failure
    seconds: float = WAIT_SECONDS


@dataclass(frozen=True, slots=True)
class Question:
    """Call a webhook, then run the request again with its reply."""

    key: str
    question: Mapping[str, Any]
    draws: Draws  # the time and uids that the next run must see again


@dataclass(frozen=True, slots=True)
class ConversionQuestion:
    """Ask a webhook to convert objects, then run the request again."""

    needed: ConversionNeeded
    draws: Draws


Outcome: TypeAlias = HttpResponse | OpenWatch | WaitFor | Question | ConversionQuestion

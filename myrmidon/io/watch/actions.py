"""The requests that the list-and-watch protocol asks for; ``protocol`` decides which comes next."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class List:
    """Read one page of a list; with ``whole``, read the whole list in one request."""

    continue_token: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class WatchFrom:
    """Open a watch from a resourceVersion; with ``initial``, it begins with a streaming list."""

    resource_version: str
    timeout_seconds: int
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """Read any one object, only to see that the server can answer; the object is not cached."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, then do ``then``."""

    seconds: float
    then: List | WatchFrom


Action: TypeAlias = List | WatchFrom | Ask | Pause

"""Values that a list or a watch yields: events, and parts of a list."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind


class WatchEvent(NamedTuple):
    """One line of a watch.  The object belongs to whoever is given the event.

    Where the object is unreadable, ``problem`` says why and ``object`` has only the fields of its
    metadata that say which object it is.
    """

    type: str
    object: Json
    problem: str = ""


class Listing(NamedTuple):
    """Objects of a list, or a part of it."""

    items: Iterable[Any]  # JSON of any shape, or Unreadable
    version: str
    begins: bool = False
    completes: bool = False  # what was in no part of it is gone
    forgets: bool = False  # versions begin anew: the server was restored from a backup


def identify(kind: Kind, item: Json) -> Json:
    """Return the item of a list with its kind and apiVersion, which built-in lists leave out."""
    return {**item, "apiVersion": kind.api_version, "kind": kind.kind}

"""The values that a list or a watch yields: watch events, and parts of a list."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind


class WatchEvent(NamedTuple):
    """One event of a watch.  The receiver of the event may change its object.

    If the object is unreadable, ``problem`` says why, and ``object`` has only the metadata that
    identifies it (see ``shapes.stub_of``).
    """

    type: str
    object: Json
    problem: str = ""


class Listing(NamedTuple):
    """A list, or a part of it: one page, or one object of a streaming list."""

    items: Iterable[Any]  # JSON of any shape, or Unreadable
    version: str
    begins: bool = False  # the first part of the list
    completes: bool = False  # the last part: objects that were in no part of it are gone
    forgets: bool = False  # the server was restored from a backup: ignore the cached versions


def identify(kind: Kind, item: Json) -> Json:
    """Return an item of a list with kind and apiVersion, which lists of built-in kinds omit."""
    return {**item, "apiVersion": kind.api_version, "kind": kind.kind}

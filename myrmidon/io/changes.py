"""What a cache holds and what it says when that changes.

An object is kept as the JSON bytes it came in: a fifth of the memory of a decoded one, and every
reader who decodes them has a copy of its own.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef

Entry: TypeAlias = tuple[bytes, str, int]
"""Body without kind and apiVersion, uid, version.  A plain tuple: the collector of cyclic garbage
stops looking at those, and there can be a hundred thousand."""

OPAQUE = -1
"""The version of an object whose resourceVersion is no number; some aggregated servers do that."""


class Source(StrEnum):
    """Who told us: what a list finds is old work, what a watch or a write brings is new."""

    LIST = "list"
    WATCH = "watch"
    WRITE = "write"


class WatchEvent(NamedTuple):
    """One line of a watch.  The object belongs to whoever is given the event."""

    type: str
    object: Json


class Listing(NamedTuple):
    """Objects of a list, or a part of it."""

    items: list[Json]
    version: str
    begins: bool = False
    completes: bool = False  # what was in no part of it is gone
    forgets: bool = False  # versions begin anew: the server was restored from a backup


@dataclass(frozen=True, slots=True)
class Change:
    """One difference that became visible: an object before and after it.

    ``before`` and ``after`` decode on every access, so each access is a copy of one's own.
    ``by`` is what the writer of an own write called itself.
    """

    ref: ObjectRef
    old: Entry | None
    new: Entry | None
    source: Source
    by: str = ""

    @property
    def before(self) -> Json | None:
        """The object as it was; None if it is new."""
        return None if self.old is None else decode(self.ref.kind, self.old[0])

    @property
    def after(self) -> Json | None:
        """The object as it is; None if it is gone."""
        return None if self.new is None else decode(self.ref.kind, self.new[0])

    @property
    def uid(self) -> str:
        """The uid of the newest incarnation that the change is about."""
        entry = self.new or self.old
        assert entry is not None, "a change from nothing to nothing"
        return entry[1]

    @property
    def type(self) -> str:
        """``added``, ``modified``, ``deleted``, or ``replaced`` by another of the same name."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "deleted"
        return "modified" if self.old[1] == self.new[1] else "replaced"

    def __repr__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"<Change {self.ref} {self.type} ({self.source}{by})>"


def decode(kind: Kind, body: bytes) -> Json:
    """A fresh object from the bytes of an entry."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **orjson.loads(body)}


def encode(obj: Json) -> bytes:
    """The bytes to keep: without what the cache's kind says already."""
    return orjson.dumps({name: obj[name] for name in obj if name not in _IMPLIED})


_IMPLIED = frozenset({"apiVersion", "kind"})


def parse_version(text: Any) -> int:
    """A resourceVersion as a number; versions of one kind of resource can be compared."""
    text = str(text or "")
    return int(text) if text.isdecimal() else OPAQUE

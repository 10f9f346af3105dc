"""What a cache holds and what it says when that changes.

An object is kept as the JSON bytes it came in: a fifth of the memory of a decoded one, and every
reader who decodes them has a copy of its own.
"""

from enum import StrEnum
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef

Entry: TypeAlias = bytes
"""One object: version (8 bytes), length of the uid (1 byte), uid, JSON without kind and apiVersion.

One ``bytes`` for all of it: a tuple of a body, a uid and a version would cost 150 bytes more, and
there can be a hundred thousand objects."""

_HEAD = Struct(">qB")  # version, length of the uid

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


class Change(NamedTuple):
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
        return None if self.old is None else decode(self.ref.kind, self.old)

    @property
    def after(self) -> Json | None:
        """The object as it is; None if it is gone."""
        return None if self.new is None else decode(self.ref.kind, self.new)

    @property
    def version(self) -> str:
        """The version of the object as it is; ``""`` if it is gone or its version is no number."""
        version = OPAQUE if self.new is None else version_in(self.new)
        return "" if version == OPAQUE else str(version)

    @property
    def uid(self) -> str:
        """The uid of the newest incarnation that the change is about."""
        entry = self.new or self.old
        assert entry is not None, "a change from nothing to nothing"
        return uid_in(entry)

    @property
    def type(self) -> str:
        """``added``, ``modified``, ``deleted``, or ``replaced`` by another of the same name."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "deleted"
        return "modified" if uid_in(self.old) == uid_in(self.new) else "replaced"

    def __repr__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"<Change {self.ref} {self.type} ({self.source}{by})>"


def encode(obj: Json, uid: str, version: int) -> Entry:
    """The bytes to keep of an object: without what the cache's kind says already."""
    body = {**obj}
    body.pop("apiVersion", None)
    body.pop("kind", None)
    name = uid.encode()
    # Adding also copies, into just enough room: orjson hands out its work buffer of 8 KB or more.
    return _HEAD.pack(version, len(name)) + name + orjson.dumps(body)


def decode(kind: Kind, entry: Entry) -> Json:
    """A fresh object from the bytes of an entry."""
    body = orjson.loads(memoryview(entry)[_HEAD.size + entry[8] :])
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def uid_in(entry: Entry) -> str:
    """The uid, without decoding the object."""
    return entry[_HEAD.size : _HEAD.size + entry[8]].decode()


def version_in(entry: Entry) -> int:
    """The version, without decoding the object."""
    version: int = _HEAD.unpack_from(entry)[0]
    return version


def unversioned(entry: Entry) -> Entry:
    """The same object, older than any other."""
    return bytes(8) + entry[8:]


def parse_version(text: Any) -> int:
    """A resourceVersion as a number; versions of one kind of resource can be compared."""
    text = str(text or "")
    return int(text) if text.isdecimal() else OPAQUE

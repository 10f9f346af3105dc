"""Entries: how a cache keeps its objects, and the changes that it tells its subscribers.

An object is kept as one ``bytes``: the JSON that it came in takes a fifth of the memory of the decoded
object, and every reader who decodes it has its own copy.  In front of the JSON stands a head with what
is asked for most often:

    1 byte   length of the version: 8, more if it needs more, 127 if the resourceVersion is not a
             number (``OPAQUE``); the highest bit is set if the object is unreadable
    2 bytes  length of the uid
    n bytes  the version
    m bytes  the uid
    the rest JSON without kind and apiVersion; for an unreadable object, what is wrong with it

An unreadable object (see ``shapes``) has an entry like any other, so that its version counts, a list
that no longer has it removes it, and a later version of it that can be read replaces it.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind, ObjectRef

Entry: TypeAlias = bytes
"""One object.  A tuple of a body, a uid and a version would cost 150 bytes more for each."""

_HEAD = Struct(">BH")  # length of the version and flag, length of the uid
_USUAL_HEAD = Struct(">BHQ")  # the same with a version of 8 bytes, which nearly every one has
_UNREADABLE = 0x80
_OPAQUE_LENGTH = 0x7F
_USUAL_MAX = 2**64 - 1
_DIGITS_MAX = 300  # 125 bytes

OPAQUE = -1
"""The version of an object whose resourceVersion is not a number, as in some aggregated servers."""

_POSITIONS_MAX = 1 << 63  # of etcd, whose revisions are the versions of nearly every server


class Source(StrEnum):
    """Who told us: what a list finds is old work, what a watch or a write brings is new."""

    LIST = "list"
    WATCH = "watch"
    WRITE = "write"


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


class Change(NamedTuple):
    """One difference that became visible: an object before and after it.

    ``before`` and ``after`` decode on every access, so each access returns a new copy.
    ``by`` is what the writer of an own write called itself.
    """

    ref: ObjectRef
    old: Entry | None
    new: Entry | None
    source: Source
    by: str = ""

    @property
    def before(self) -> Json | None:
        """The object as it was; None if it is new, or was unreadable."""
        return readable(self.ref.kind, self.old)

    @property
    def after(self) -> Json | None:
        """The object as it is; None if it is gone, or unreadable."""
        return readable(self.ref.kind, self.new)

    @property
    def version(self) -> str:
        """The version of the object as it is; ``""`` if it is gone or its version is not a number."""
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
    """Return the bytes to keep of an object, without what the cache's kind says already.

    Raises ``ValueError``, ``TypeError`` or ``RecursionError`` where the object is not JSON.
    """
    body = {**obj}
    body.pop("apiVersion", None)
    body.pop("kind", None)
    # Adding also copies, into just enough room: orjson hands out its work buffer of 8 KB or more.
    try:
        return _head(uid, version) + orjson.dumps(body)
    except TypeError:  # deeper than 254 levels: orjson reads that, and does not write it
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return _head(uid, version) + text.encode()


def encode_unreadable(problem: str, uid: str, version: int) -> Entry:
    """Return the bytes to keep of an object that cannot be read."""
    return _head(uid, version, _UNREADABLE) + problem.encode(errors="replace")


def _head(uid: str, version: int, flag: int = 0) -> bytes:
    name = uid.encode()
    if 0 <= version <= _USUAL_MAX:
        return _USUAL_HEAD.pack(8 | flag, len(name), version) + name
    if version == OPAQUE:
        return _HEAD.pack(_OPAQUE_LENGTH | flag, len(name)) + name
    length = (version.bit_length() + 7) >> 3
    return _HEAD.pack(length | flag, len(name)) + version.to_bytes(length, "big") + name


def _uid_at(entry: Entry) -> int:
    """Where the uid begins: behind the version."""
    length = entry[0] & 0x7F
    return _HEAD.size if length == _OPAQUE_LENGTH else _HEAD.size + length


def _body_at(entry: Entry) -> int:
    return _uid_at(entry) + (entry[1] << 8) + entry[2]


def decode(kind: Kind, entry: Entry) -> Json:
    """Return a new object from the bytes of an entry that is readable."""
    body = orjson.loads(memoryview(entry)[_body_at(entry) :])
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def identify(kind: Kind, item: Json) -> Json:
    """The item of a list with its kind and version, which built-in lists leave out."""
    return {**item, "apiVersion": kind.api_version, "kind": kind.kind}


def readable(kind: Kind, entry: Entry | None) -> Json | None:
    """Return a new object from an entry; None if there is no entry, or it is unreadable."""
    return None if entry is None or entry[0] >= _UNREADABLE else decode(kind, entry)


def is_unreadable(entry: Entry) -> bool:
    """Whether an entry is that of an object that cannot be read."""
    return entry[0] >= _UNREADABLE


def problem_of(entry: Entry) -> str:
    """Say why an entry is unreadable; ``""`` if it is not."""
    return entry[_body_at(entry) :].decode() if entry[0] >= _UNREADABLE else ""


def uid_in(entry: Entry) -> str:
    """The uid, without decoding the object."""
    return entry[_uid_at(entry) : _body_at(entry)].decode()


def version_in(entry: Entry) -> int:
    """The version, without decoding the object."""
    if entry[0] == 8:
        version: int = _USUAL_HEAD.unpack_from(entry)[2]
        return version
    if entry[0] & 0x7F == _OPAQUE_LENGTH:
        return OPAQUE
    return int.from_bytes(entry[_HEAD.size : _uid_at(entry)], "big")


def is_same(one: Entry, other: Entry) -> bool:
    """Whether two entries are the same but for their versions."""
    if one[1:3] != other[1:3] or (one[0] ^ other[0]) & _UNREADABLE:
        return False
    return one[_uid_at(one) :] == other[_uid_at(other) :]


def unversioned(entry: Entry) -> Entry:
    """The same object, older than any other."""
    size = (entry[1] << 8) + entry[2]
    return _USUAL_HEAD.pack(8 | entry[0] & _UNREADABLE, size, 0) + entry[_uid_at(entry) :]


def parse_version(text: Any) -> int:
    """A resourceVersion as a number; versions of one kind of resource can be compared."""
    text = str(text or "")
    if len(text) <= _DIGITS_MAX and text.isascii() and text.isdecimal():
        return int(text)
    return OPAQUE


def is_ahead(version: int, position: int) -> bool:
    """Whether a watch that has come to ``position`` has come further with an object of ``version``.

    A version that etcd cannot have, behind a position that it can have, is a mistake of the server.
    Were it believed, all that follows would look old.
    """
    return version > position and (version < _POSITIONS_MAX or position >= _POSITIONS_MAX)

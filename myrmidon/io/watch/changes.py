"""Entries: how a cache stores its objects; and Change, what it sends to its subscribers.

An object is stored as one ``bytes``.  Its JSON takes a fifth of the memory of the decoded object,
and every reader that decodes it gets its own copy.  A head in front of the JSON has the fields that
are needed most often:

    1 byte   length of the version: 8, more if it needs more, 127 if the resourceVersion is not a
             number (``OPAQUE``); the highest bit is set if the object is unreadable
    2 bytes  length of the uid
    n bytes  the version
    m bytes  the uid
    the rest JSON without kind and apiVersion; for an unreadable object, what is wrong with it

An unreadable object (see ``lists.shapes``) has an entry like any other.  So its version counts, a
list without it removes it, and a later, readable version replaces it.
"""

import json
from enum import StrEnum
from functools import lru_cache
from struct import Struct
from typing import NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef

Entry: TypeAlias = bytes
"""A stored object.  A tuple of JSON, uid and version would cost 150 bytes more for each object."""

_HEAD = Struct(">BH")  # length of the version and flag, length of the uid
_USUAL_HEAD = Struct(">BHQ")  # the same with a version of 8 bytes, which nearly every one has
_UNREADABLE = 0x80
_OPAQUE_LENGTH = 0x7F
_USUAL_MAX = 2**64 - 1
_DIGITS_MAX = 300  # 125 bytes

OPAQUE = -1
"""The version of an object whose resourceVersion is not a number, as in some aggregated servers."""

_POSITIONS_MAX = 1 << 63  # etcd revisions are below; nearly all servers use them as versions


class Source(StrEnum):
    """Where a change comes from: a list, a watch event, or a write by this process."""

    LIST = "list"
    WATCH = "watch"
    WRITE = "write"


class Change(NamedTuple):
    """One change of a cached object, with its entries before (``old``) and after (``new``).

    ``before`` and ``after`` decode on every access, so each access returns a new copy.
    ``by`` is the signature of the pass that made a write of this process, otherwise ``""``.
    ``keeps_parent`` is set for such a write if the object of that pass is known to be the parent
    before and after it, so that the entries need not be decoded to find out.
    """

    ref: ObjectRef
    old: Entry | None
    new: Entry | None
    source: Source
    by: str = ""
    keeps_parent: bool = False

    @property
    def before(self) -> Json | None:
        """The object before the change; None if it did not exist, or was unreadable."""
        return readable(self.ref.kind, self.old)

    @property
    def after(self) -> Json | None:
        """The object after the change; None if it was deleted, or is unreadable."""
        return readable(self.ref.kind, self.new)

    @property
    def version(self) -> str:
        """The resourceVersion after the change; ``""`` if deleted, or if it is not a number."""
        version = OPAQUE if self.new is None else version_in(self.new)
        return "" if version == OPAQUE else str(version)

    @property
    def uid(self) -> str:
        """The uid of the object after the change, or before it if it was deleted."""
        entry = self.new or self.old
        assert entry is not None, "a change has an old or a new entry"
        return uid_in(entry)

    @property
    def type(self) -> str:
        """``added``, ``modified``, ``deleted``, or ``replaced`` (same name, another uid)."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "deleted"
        return "modified" if uid_in(self.old) == uid_in(self.new) else "replaced"

    def __repr__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"<Change {self.ref} {self.type} ({self.source}{by})>"


def encode(obj: Json, uid: str, version: int) -> Entry:
    """Return the entry for an object; kind and apiVersion, which the cache knows, are left out.

    Raises ``ValueError``, ``TypeError`` or ``RecursionError`` if the object is not JSON.
    """
    body = {**obj}
    body.pop("apiVersion", None)
    body.pop("kind", None)
    # The + also copies to the exact size: orjson returns its work buffer of 8 KB or more.
    try:
        return _head(uid, version) + orjson.dumps(body)
    except TypeError:  # deeper than 254 levels, which orjson can read but not write
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return _head(uid, version) + text.encode()


def encode_unreadable(problem: str, uid: str, version: int) -> Entry:
    """Return the entry for an unreadable object."""
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
    """Return the offset of the uid, which follows the version."""
    length = entry[0] & 0x7F
    return _HEAD.size if length == _OPAQUE_LENGTH else _HEAD.size + length


def _body_at(entry: Entry) -> int:
    if entry[0] == 8:  # nearly always
        return _USUAL_HEAD.size + (entry[1] << 8) + entry[2]
    return _uid_at(entry) + (entry[1] << 8) + entry[2]


def decode(kind: Kind, entry: Entry) -> Json:
    """Return the object of a readable entry, as a new copy."""
    body = orjson.loads(memoryview(entry)[_body_at(entry) :])
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def readable(kind: Kind, entry: Entry | None) -> Json | None:
    """Return the object of an entry, as a new copy; None without an entry or if unreadable."""
    return None if entry is None or entry[0] >= _UNREADABLE else decode(kind, entry)


def is_unreadable(entry: Entry) -> bool:
    """Whether an entry is that of an unreadable object."""
    return entry[0] >= _UNREADABLE


def problem_of(entry: Entry) -> str:
    """Return why the object of an entry is unreadable; ``""`` if it is readable."""
    return entry[_body_at(entry) :].decode() if entry[0] >= _UNREADABLE else ""


def uid_in(entry: Entry) -> str:
    """Return the uid of an entry, without decoding the object."""
    return entry[_uid_at(entry) : _body_at(entry)].decode()


def version_in(entry: Entry) -> int:
    """Return the version of an entry, without decoding the object."""
    if entry[0] == 8:
        version: int = _USUAL_HEAD.unpack_from(entry)[2]
        return version
    if entry[0] & 0x7F == _OPAQUE_LENGTH:
        return OPAQUE
    return int.from_bytes(entry[_HEAD.size : _uid_at(entry)], "big")


def is_same(one: Entry, other: Entry) -> bool:
    """Whether two entries differ at most in the version of the head."""
    if one[0] == 8 == other[0]:  # nearly always
        return one[_USUAL_HEAD.size :] == other[_USUAL_HEAD.size :] and one[1:3] == other[1:3]
    if one[1:3] != other[1:3] or (one[0] ^ other[0]) & _UNREADABLE:
        return False
    return one[_uid_at(one) :] == other[_uid_at(other) :]


def unversioned(entry: Entry) -> Entry:
    """Return the entry with version 0, so that any other version is newer."""
    size = (entry[1] << 8) + entry[2]
    return _USUAL_HEAD.pack(8 | entry[0] & _UNREADABLE, size, 0) + entry[_uid_at(entry) :]


@lru_cache(maxsize=1024)  # called several times for each version: of an answer, of its watch event
def parse_version(text: str) -> int:
    """Return a resourceVersion as a number, ``OPAQUE`` if it is not one.

    The versions of one resource can be compared.
    """
    if len(text) <= _DIGITS_MAX and text.isascii() and text.isdecimal():
        return int(text)
    return OPAQUE


def is_ahead(version: int, position: int) -> bool:
    """Whether an event of ``version`` moves a watch at ``position`` forward.

    After a position that etcd can have, a version beyond its range is an error of the server: if it
    became the position, all later events would look like replays.
    """
    return version > position and (version < _POSITIONS_MAX or position >= _POSITIONS_MAX)

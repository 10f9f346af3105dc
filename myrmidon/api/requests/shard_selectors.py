"""The query parameter ``shardSelector``: a part of the objects of a kind, by a hash (KEP-5866).

    shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')

A range holds the objects for which the 64-bit FNV-1a hash of the field is in [start, end).  Several
ranges are joined by ``||``; all of them name the same field.  A bound has exactly 16 hexadecimal
digits in lower case, except for the end of the hash space, ``0x10000000000000000``.

A server older than Kubernetes 1.36, or without the feature gate ShardedListAndWatch, ignores the
parameter and sends all objects.  Lists of custom resources do not say whether it was applied
(``shardInfo`` in the metadata is only in lists of built-in kinds), so a client checks each object that
it receives, whatever it has asked for.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.errors import UsageError

HASH_END = 2**64
ShardField: TypeAlias = Literal["uid", "namespace"]
_RANGE = re.compile(
    r"shardRange\(object\.metadata\.(uid|namespace), '0x([0-9a-f]{16})', '0x([0-9a-f]{16}|10{16})'\)"
)


class ShardRange(NamedTuple):
    """The objects for which the hash of ``metadata.<field>`` is in [start, end)."""

    field: ShardField
    start: int
    end: int

    def covers(self, value: str) -> bool:
        """Whether an object with this value of the field is in the range."""
        return self.start <= fnv1a_64(value) < self.end

    def __str__(self) -> str:
        return (
            f"shardRange(object.metadata.{self.field}, '0x{self.start:016x}', '0x{self.end:016x}')"
        )


def write_shard_selector(ranges: Iterable[ShardRange]) -> str:
    """Return the ranges as the text of a shardSelector."""
    return " || ".join(map(str, ranges))


def read_shard_selector(text: str) -> tuple[ShardRange, ...]:
    """Return the ranges of a text that ``write_shard_selector`` has made."""
    ranges = tuple(_read_range(text, part) for part in text.split(" || "))
    if len({found.field for found in ranges}) > 1:
        raise _malformed(text, "its ranges name different fields")
    return ranges


def _read_range(text: str, part: str) -> ShardRange:
    match _RANGE.fullmatch(part):
        case None:
            raise _malformed(text, f"{part!r} is not a range")
        case found:
            field: ShardField = "uid" if found[1] == "uid" else "namespace"
            read = ShardRange(field, int(found[2], 16), int(found[3], 16))
    if read.start >= read.end:
        raise _malformed(text, f"{part!r} does not start before its end")
    return read


def _malformed(text: str, problem: str) -> UsageError:
    return UsageError(
        f"unable to read the shard selector {text!r}: {problem}.\n"
        "  fix: write shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000'), "
        "several of them joined by ' || '"
    )

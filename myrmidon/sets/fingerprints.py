"""Fingerprints of declarations, and the marks that are written to objects.

A comparison of the declaration with the object cannot always tell whether the object is as declared
(``patch.covering.leaves_doubt``).  So ``sets.planning`` writes a fingerprint of the declaration to
the object, as an annotation: the mark.  If the mark on the object differs from that of the current
declaration, the object is written.  The mark is on the object, so it survives a restart.

A full update (``as_update``) of a custom kind needs more: it has to see content that others added,
but the defaults of a custom kind are not known here, and look the same.  Its mark has the form
``<fingerprint>.<generation>``, with the generation that our own update produced.  As long as the
object has that generation, no other writer has changed its content, and everything in it beyond
the declaration is a default.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json, generation_of
from myrmidon.api.objects.refs import Kind
from myrmidon.patch.covering import covers
from myrmidon.patch.server_filled import exceeds

_WHOLE_MAX = 1e16  # larger floats are encoded with an exponent, and are kept as they are


def fingerprint(declared: Mapping[str, Any]) -> str:
    """Return a hash of the declaration; equal declarations have equal hashes in every process."""
    canonical = orjson.dumps(declared, option=orjson.OPT_SORT_KEYS)
    if b".0" in canonical:  # 1.0 equals 1; the search is cheap, and floats are rare
        canonical = orjson.dumps(_with_plain_numbers(declared), option=orjson.OPT_SORT_KEYS)
    return blake2b(canonical, digest_size=8).hexdigest()


def settled_mark(declared: Json, generation: int) -> str:
    """Return the mark of an object whose whole content was written by us at that generation."""
    return f"{fingerprint(_content(declared))}.{generation}"


def next_mark(current: Json, declared: Json, seen: str | None, kind: Kind) -> str:
    """Return the mark that a full update should write; ``seen`` if the content has not changed.

    ``seen`` is the mark on the object.  Whether the update will increase the generation can only be
    guessed if the content has more fields than were declared.  After a wrong guess the next pass
    finds a mark that differs, and writes the object once more.
    """
    generation = generation_of(current)
    stays = settled_mark(declared, generation)
    moves = settled_mark(declared, generation + 1)
    content = _content(declared)
    if not covers(current, content):
        return moves
    if seen in (stays, moves):  # ``moves``: our last update did not increase the generation
        return stays
    return moves if exceeds(_content(current), content, kind) else stays


def _content(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _with_plain_numbers(value: Any) -> Any:
    match value:
        case dict():
            return {key: _with_plain_numbers(item) for key, item in value.items()}
        case list():
            return [_with_plain_numbers(item) for item in value]
        case float() if value.is_integer() and abs(value) < _WHOLE_MAX:
            return int(value)
        case _:
            return value

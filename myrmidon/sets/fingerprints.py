"""Short names for what was declared, kept on the object itself so that a restart knows them, too."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from myrmidon.api.objects import Json, generation_of
from myrmidon.api.refs import Kind
from myrmidon.patch.covering import covers
from myrmidon.patch.server_filled import exceeds

_WHOLE_MAX = 1e16  # from here on a float is written with an exponent, and stays one


def fingerprint(declared: Mapping[str, Any]) -> str:
    """A short name for a declaration: equal content, equal name, in every process."""
    canonical = orjson.dumps(declared, option=orjson.OPT_SORT_KEYS)
    if b".0" in canonical:  # 1.0 is 1; a search, because hardly any declaration holds a float
        canonical = orjson.dumps(_with_plain_numbers(declared), option=orjson.OPT_SORT_KEYS)
    return blake2b(canonical, digest_size=8).hexdigest()


def settled_mark(declared: Json, generation: int) -> str:
    """The mark of an object whose content was declared in full, and has been since that generation.

    Which defaults a custom kind has is not known here.  But while the generation is still that of
    our own write, what the content holds beyond the declaration can be nothing else.
    """
    return f"{fingerprint(_content(declared))}.{generation}"


def next_mark(current: Json, declared: Json, seen: str | None, kind: Kind) -> str:
    """The mark that a full update should leave: ``seen`` itself where nobody touched the content.

    Whether the update will move the generation can only be guessed where the content holds more
    than was declared.  A wrong guess is seen afterwards, and costs one more write.
    """
    generation = generation_of(current)
    stays = settled_mark(declared, generation)
    moves = settled_mark(declared, generation + 1)
    content = _content(declared)
    if not covers(current, content):
        return moves
    if seen in (stays, moves):  # in the second case our last update did not move it
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

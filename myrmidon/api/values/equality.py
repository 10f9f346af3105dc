"""Equality of JSON values.  Python's ``==`` is not it: it says ``True == 1`` and ``1 == 1.0``.

There are two relations, and each caller has a reason for one of them:

- ``same``: equal as JSON.  A number is its value, so ``1`` equals ``1.0``; ``true`` does not equal
  ``1``.  For what a client compares: the server may return ``1`` for the ``1.0`` that it was sent.
- ``identical``: equal in Go, where a decoded number is an int64 or a float64 and the two differ.
  For what the API server compares: ``enum``, the ``test`` of a JSON patch, ratcheting, no-op updates.

Values that are identical are the same.
"""

from typing import Any

import orjson

_CONTAINERS = (dict, list)
_TEXTS = frozenset({str})


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: ``1`` equals ``1.0``, ``true`` does not equal ``1``."""
    # Python compares in C, but says True == 1.
    return bool(left == right) and (_same_text(left, right) or same_booleans(left, right))


def _same_text(left: Any, right: Any) -> bool:
    """Whether two maps or lists are written alike, which is found out in C; False proves nothing."""
    if not isinstance(left, _CONTAINERS):
        return False
    try:
        one = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
        return one == orjson.dumps(right, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # deeper than orjson can write
        return False


def same_booleans(left: Any, right: Any) -> bool:
    """Whether two values that are equal in Python have their booleans in the same places.

    ``right`` may hold more fields than ``left``.
    """
    if left is right:
        return True
    if isinstance(left, dict):
        if _TEXTS.issuperset(map(type, left.values())):
            return True
        for key, value in left.items():
            if type(value) is str:
                continue
            other = right[key]
            if value is not other and not same_booleans(value, other):
                return False
        return True
    if isinstance(left, list):
        return all(map(same_booleans, left, right))
    return (type(left) is bool) is (type(right) is bool)


def identical(left: Any, right: Any) -> bool:
    """Whether two decoded JSON values are equal in Go: ``1`` equals neither ``1.0`` nor ``true``."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        if left.keys() != right.keys():
            return False
        for key, value in left.items():
            other = right[key]
            if value is not other and not identical(value, other):
                return False
        return True
    if isinstance(left, list):
        return len(left) == len(right) and all(map(identical, left, right))
    return bool(left == right)

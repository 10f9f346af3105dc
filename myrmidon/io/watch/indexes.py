"""Indexes: find cached objects by owner, by label or by a function, without looking at all of them.

An index is a function from an object to the words under which it is found.  Only declared indexes
cost memory.  When an object changes, its old words are computed again from its old bytes, so the
words of each object need not be stored a second time.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, labels_of, owners_of
from myrmidon.errors import UsageError

Key: TypeAlias = tuple[str, str]  # namespace, name
IndexFunction: TypeAlias = Callable[[dict[str, Any]], Iterable[str]]

_log = logging.getLogger(__name__)


def by_owner(obj: Mapping[str, Any]) -> list[str]:
    """Index function: the uids of all owner references of an object."""
    return [str(owner.get("uid")) for owner in owners_of(obj)]


def by_label(name: str) -> IndexFunction:
    """Return an index function for the value of one label."""

    def index(obj: Mapping[str, Any]) -> list[str]:
        value = labels_of(obj).get(name)
        return [] if value is None else [value]

    return index


class Indexes:
    """The declared indexes of one cache: index name, then word, then keys of objects."""

    def __init__(self) -> None:
        self._functions: dict[str, IndexFunction] = {}
        self._keys: dict[str, dict[str, dict[Key, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._functions)

    def declare(self, name: str, function: IndexFunction) -> bool:
        """Add an index; return False if the same one is declared already."""
        known = self._functions.get(name)
        if known is function:
            return False
        if known is not None:
            raise UsageError(
                f"the index {name!r} is declared twice, with different functions.\n"
                "  fix: give one of them another name, or declare one function once and share it"
            )
        self._functions[name] = function
        self._keys[name] = {}
        return True

    def find(self, name: str, word: str) -> list[Key]:
        """Return the keys of the objects under a word, sorted."""
        if name not in self._keys:
            declared = ", ".join(sorted(self._keys)) or "none"
            raise UsageError(
                f"there is no index {name!r}; declared are: {declared}.\n"
                "  fix: declare it where the kind is declared"
            )
        return sorted(self._keys[name].get(word, ()))

    def move_all(self, key: Key, old: Json | None, new: Json | None) -> None:
        """Move an object in all indexes from the words of ``old`` to the words of ``new``."""
        for name in self._functions:
            self.move(name, key, old, new)

    def move(self, name: str, key: Key, old: Json | None, new: Json | None) -> None:
        """Move an object in one index from the words of ``old`` to the words of ``new``."""
        function, words = self._functions[name], self._keys[name]
        before, after = words_of(name, function, old), words_of(name, function, new)
        for word in before:
            if word not in after and word in words:
                words[word].pop(key, None)
                if not words[word]:
                    del words[word]
        for word in after:
            words.setdefault(word, {})[key] = None


def words_of(name: str, function: IndexFunction, obj: Json | None) -> dict[str, None]:
    """Return the words of an object; none if the index function raises, which is logged."""
    if obj is None:
        return {}
    try:
        return dict.fromkeys(function(obj))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001  user code; one object must not stop the others
        meta = obj.get("metadata") or {}
        facts = {"index": name, "object": f"{meta.get('namespace', '')}/{meta.get('name', '')}"}
        _log.exception("index function failed", extra={"facts": facts})
        return {}

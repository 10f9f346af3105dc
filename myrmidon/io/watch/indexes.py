"""Ways to find objects in a cache without looking at each: by owner, by label, by anything.

An index is a function from an object to the words it can be found under.  Only declared indexes
cost memory, and what an object was found under is recomputed from its old bytes when it changes,
so nothing is kept per object.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects import Json, labels_of, owners_of
from myrmidon.errors import UsageError

Key: TypeAlias = tuple[str, str]  # namespace, name
IndexFunction: TypeAlias = Callable[[dict[str, Any]], Iterable[str]]

_log = logging.getLogger(__name__)


def by_owner(obj: Mapping[str, Any]) -> list[str]:
    """The uids of all owners."""
    return [str(owner.get("uid")) for owner in owners_of(obj)]


def by_label(name: str) -> IndexFunction:
    """The value of one label."""

    def index(obj: Mapping[str, Any]) -> list[str]:
        value = labels_of(obj).get(name)
        return [] if value is None else [value]

    return index


class Indexes:
    """Every declared index of one cache: function name, word, keys."""

    def __init__(self) -> None:
        self._functions: dict[str, IndexFunction] = {}
        self._keys: dict[str, dict[str, dict[Key, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._functions)

    def declare(self, name: str, function: IndexFunction) -> bool:
        """Add an index; False if it is there already."""
        known = self._functions.get(name)
        if known is function:
            return False
        if known is not None:
            raise UsageError(
                f"two different functions want to be the index {name!r}.\n"
                "  fix: give one of them another name, or declare one function once and share it"
            )
        self._functions[name] = function
        self._keys[name] = {}
        return True

    def find(self, name: str, word: str) -> list[Key]:
        """The keys under a word, sorted."""
        if name not in self._keys:
            raise UsageError(
                f"there is no index {name!r}; declared are: {', '.join(sorted(self._keys)) or 'none'}.\n"
                "  fix: declare it where the kind is declared"
            )
        return sorted(self._keys[name].get(word, ()))

    def move_all(self, key: Key, old: Json | None, new: Json | None) -> None:
        """Find an object under what it is now, no longer under what it was."""
        for name in self._functions:
            self.move(name, key, old, new)

    def move(self, name: str, key: Key, old: Json | None, new: Json | None) -> None:
        """The same for one index."""
        function, words = self._functions[name], self._keys[name]
        before, after = _words(name, function, old), _words(name, function, new)
        for word in before:
            if word not in after and word in words:
                words[word].pop(key, None)
                if not words[word]:
                    del words[word]
        for word in after:
            words.setdefault(word, {})[key] = None


def _words(name: str, function: IndexFunction, obj: Json | None) -> dict[str, None]:
    """The words of one object; none if the function raises, whatever it raises."""
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

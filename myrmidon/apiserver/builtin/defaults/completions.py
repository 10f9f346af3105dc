"""Building blocks of completions, the functions that fill in the defaults of a type."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json

Completion: TypeAlias = Callable[[Json], None]


def fill(**values: Any) -> Completion:
    """Return a completion that sets the fields that are missing."""

    def complete(obj: Json) -> None:
        for name, value in values.items():
            if name not in obj:
                # A copy for each object, because later completions may change it.
                obj[name] = deepcopy(value) if isinstance(value, dict | list) else value

    return complete


def prefixed(prefix: str, completions: Mapping[str, Completion]) -> dict[str, Completion]:
    """Return the completions with a prefix before the names of their types."""
    return {prefix + name: completion for name, completion in completions.items()}

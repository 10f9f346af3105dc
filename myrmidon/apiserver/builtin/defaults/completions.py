"""The parts that completions are made of."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json

Completion: TypeAlias = Callable[[Json], None]


def fill(**values: Any) -> Completion:
    """A completion that sets the fields which are not there."""

    def complete(obj: Json) -> None:
        for name, value in values.items():
            if name not in obj:
                # A list or map of its own for each object: what follows may change it.
                obj[name] = deepcopy(value) if isinstance(value, dict | list) else value

    return complete


def prefixed(prefix: str, completions: Mapping[str, Completion]) -> dict[str, Completion]:
    """The same completions under the full names of their types."""
    return {prefix + name: completion for name, completion in completions.items()}

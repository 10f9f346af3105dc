"""Access to fields, keys and indices of values whose type is known only at run time."""

from collections.abc import Mapping

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import NONE, OptionalValue, Value, kind_of, runtime_type, some

_GO_NAMES = {
    "null": "types.Null",
    "bool": "types.Bool",
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "string": "types.String",
    "bytes": "types.Bytes",
    "timestamp": "types.Timestamp",
    "duration": "types.Duration",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
}


def shown(key: Value) -> str:
    """Return a key as messages show it."""
    return str(key).lower() if isinstance(key, bool) else str(key)


def no_such_key(key: Value) -> CelEvaluationError:
    """Return the error for a missing field or key."""
    return CelEvaluationError(f"no such key: {shown(key)}")


def get_field(container: Value, name: str) -> Value:
    """Return ``container.name``."""
    if isinstance(container, OptionalValue):
        return find_field(container, name)
    return get_index(container, name)


def get_index(container: Value, key: Value) -> Value:
    """Return ``container[key]``."""
    if isinstance(container, OptionalValue):
        return find_index(container, key)
    if isinstance(container, Mapping):
        try:
            return container[key]
        except (KeyError, TypeError):
            raise no_such_key(key) from None
    if isinstance(container, list):
        return container[_position(container, key)]
    raise no_such_key(key)


def _position(items: list[Value], key: Value) -> int:
    if isinstance(key, bool) or not isinstance(key, int | float):
        raise CelEvaluationError(f"unsupported index type '{runtime_type(key)}' in list")
    if key != int(key):
        raise CelEvaluationError(f"unsupported index value {shown(key)} in list")
    if not 0 <= key < len(items):
        raise CelEvaluationError(f"index out of bounds: {shown(key)}")
    return int(key)


def has_field(container: Value, name: str) -> bool:
    """Return ``has(container.name)``; false for a value without fields."""
    if isinstance(container, OptionalValue):
        return container.present and has_field(container.value, name)
    if isinstance(container, list):
        raise CelEvaluationError("unsupported index type 'string' in list")
    return isinstance(container, Mapping) and name in container


def find_field(container: Value, name: str) -> OptionalValue:
    """Return ``container.?name``."""
    return find_index(container, name)


def find_index(container: Value, key: Value) -> OptionalValue:
    """Return ``container[?key]``."""
    if isinstance(container, OptionalValue):
        return find_index(container.value, key) if container.present else NONE
    if isinstance(container, Mapping):
        return some(container[key]) if key in container else NONE
    if isinstance(container, list):
        if isinstance(key, str):
            raise CelEvaluationError("unsupported index type 'string' in list")
        return some(container[int(key)]) if 0 <= key < len(container) else NONE
    return NONE


def elements(container: Value, *, pairs: bool = False) -> list[Value] | Mapping[Value, Value]:
    """Return the list or map that a comprehension iterates over; raise for other values."""
    if isinstance(container, list | Mapping):
        return container
    kind = kind_of(container)
    name = _GO_NAMES.get(kind, kind)
    if pairs:
        raise CelEvaluationError(f"unsupported comprehension range type: {name}")
    raise CelEvaluationError(f"got '{name}', expected iterable type")

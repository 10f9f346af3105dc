"""Whether an object on the server already holds what a state declared.

The server stores more than was written: it fills in defaults inside list elements, omits empty
values and prints quantities in their shortest form.  A comparison for equality would find a
difference for ever, so the question is whether the declared content is *covered* by the current
object.  ``leaves_doubt`` says for which declarations this comparison is not enough.
"""

from typing import Any

from myrmidon.api.values.equality import same_booleans
from myrmidon.api.values.quantities import same_quantity

# Maps whose values are quantities, and single fields that are one, in the built-in kinds.
_QUANTITY_MAPS = frozenset(
    {
        "allocatable", "capacity", "default", "defaultRequest", "hard", "limits", "max",
        "maxLimitRequestRatio", "min", "overhead", "podFixed", "requests", "used",
    }
)  # fmt: skip
_CONTAINERS = (dict, list)
_TEXTS = frozenset({str})
_QUANTITY_FIELDS = frozenset({"averageValue", "divisor", "sizeLimit"})
# Maps of strings in the built-in kinds: unlike a field, an entry is stored even if it is empty.
_STRING_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector"}
)
_SPECIAL = _QUANTITY_MAPS | _QUANTITY_FIELDS | _STRING_MAPS | {"value"}


def covers_object(current: dict[str, Any], declared: dict[str, Any], *, built_in: bool) -> bool:
    """Whether an object holds everything declared.  The metadata is compared as for built-in kinds."""
    if built_in:
        return _covers(current, declared, built_in=True)
    meta, content = declared["metadata"], {**declared, "metadata": {}}
    return _covers(current.get("metadata"), meta, built_in=True) and _covers(
        current, content, built_in=False
    )


def covers(current: Any, declared: Any, *, built_in: bool = False) -> bool:
    """Whether ``current`` holds everything ``declared`` says.

    Objects may hold more; lists must be as long and cover element by element; null asks for
    absence.  For built-in kinds an empty value may be absent, because the server does not store
    it, and quantities may be written differently.
    """
    return _covers(current, declared, built_in)


def _covers(current: Any, declared: Any, built_in: bool) -> bool:
    if isinstance(declared, dict):
        return isinstance(current, dict) and _fields_covered(current, declared, built_in)
    if isinstance(declared, list):
        return isinstance(current, list) and _elements_covered(current, declared, built_in)
    return bool(current == declared) and isinstance(current, bool) == isinstance(declared, bool)


def _fields_covered(current: dict[str, Any], declared: dict[str, Any], built_in: bool) -> bool:
    # The hottest code of a pass.  Most maps hold exactly what was declared, which one comparison in
    # C finds out; in the others, most fields are maps, lists, or strings that are equal.
    if declared.items() <= current.items() and same_booleans(declared, current):
        return True
    for key, wanted in declared.items():
        there, kind = current.get(key), type(wanted)
        if kind in _CONTAINERS:
            if there is not None and key not in _SPECIAL:
                if not _covers(there, wanted, built_in):
                    return False
                continue
        elif kind is type(there):
            if there == wanted:
                continue
            if kind is str and not (built_in and key in _SPECIAL):
                return (
                    False  # two different strings; in special fields they may be equal quantities
                )
        if not _field_covered(there, key, wanted, current, built_in):
            return False
    return True


def _elements_covered(current: list[Any], declared: list[Any], built_in: bool) -> bool:
    if len(current) != len(declared):
        return False
    for there, wanted in zip(current, declared, strict=True):
        if not _covers(there, wanted, built_in):
            return False
    return True


def _field_covered(
    there: Any, key: str, wanted: Any, current: dict[str, Any], built_in: bool
) -> bool:
    if wanted is None:
        return there is None
    if there is None:
        return built_in and _is_empty(wanted)
    if not built_in:
        return _covers(there, wanted, built_in)
    if key in _STRING_MAPS:
        return _covers(there, wanted, built_in=False)
    if key in _QUANTITY_MAPS and isinstance(wanted, dict) and isinstance(there, dict):
        return all(_amount_covered(there.get(name), value) for name, value in wanted.items())
    if key in _QUANTITY_FIELDS or (key == "value" and current.get("type") == "Value"):
        return same_quantity(there, wanted)
    return _covers(there, wanted, built_in)


def _amount_covered(there: Any, wanted: Any) -> bool:
    if there is None or wanted is None or (type(wanted) is str and there == wanted):
        return bool(there == wanted)
    # The map may hold other values than quantities: compare those as usual.
    return same_quantity(there, wanted) or _covers(there, wanted, built_in=True)


def shortened(current: Any, declared: Any) -> Any:
    """Return ``current`` with its lists cut to the length that ``declared`` gives them.

    Admission appends to lists of Pods: tolerations, the volume with the token, sidecar containers.
    """
    if isinstance(current, dict) and isinstance(declared, dict):
        return {key: shortened(value, declared.get(key)) for key, value in current.items()}
    if isinstance(current, list) and isinstance(declared, list):
        return list(map(shortened, current, declared))
    return current


def _is_empty(wanted: Any) -> bool:
    """Whether the server stores nothing for the value: false, 0, an empty string, list or map."""
    if isinstance(wanted, dict):
        return all(value is None for value in wanted.values())
    return not wanted


def leaves_doubt(declared: dict[str, Any] | list[Any], *, built_in: bool = False) -> bool:
    """Whether ``covers`` can be true although the object is not as declared.

    Two cases: a field that an earlier declaration had inside a list element looks like a default
    of the server, and, for built-in kinds, so does an empty value that is absent.  Such
    declarations need a fingerprint of what was last sent in addition to the comparison.
    """
    if isinstance(declared, dict):
        for key, value in declared.items():
            kind = type(value)
            if not value:
                if built_in and value is not None:
                    return True
            elif kind is str:
                continue
            elif kind is dict:
                # Most metadata and data are maps of strings that are not empty.
                inner = value.values()
                is_plain = _TEXTS.issuperset(map(type, inner)) and "" not in inner
                if not is_plain and leaves_doubt(
                    value, built_in=built_in and key not in _STRING_MAPS
                ):
                    return True
            elif kind is list and leaves_doubt(value):
                return True
        return False
    return any(isinstance(element, _CONTAINERS) for element in declared)

"""Does an object of the server already say what was declared?

The server answers a write with more than was written: defaults inside of list elements, omitted
empty values, quantities in their shortest form.  Comparing for equality would find a difference
for ever, so the question is whether the declared content is *covered*.  Two things cannot be seen
this way, and ``leaves_doubt`` names them: see there.
"""

from typing import Any

from myrmidon.patch.quantities import same_quantity

# Maps whose values are quantities, and single fields that are one, in the built-in kinds.
_QUANTITY_MAPS = frozenset(
    {
        "allocatable", "capacity", "default", "defaultRequest", "hard", "limits", "max",
        "maxLimitRequestRatio", "min", "overhead", "podFixed", "requests", "used",
    }
)  # fmt: skip
_QUANTITY_FIELDS = frozenset({"averageValue", "divisor", "sizeLimit"})
# Maps of strings in the built-in kinds: unlike a field, an entry is stored even if it is empty.
_STRING_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector"}
)


def covers_object(current: dict[str, Any], declared: dict[str, Any], *, built_in: bool) -> bool:
    """Whether a whole object holds everything declared: the metadata of every kind is built in."""
    return all(
        _field_covered(current.get(key), key, value, current, built_in or key == "metadata")
        for key, value in declared.items()
    )


def covers(current: Any, declared: Any, *, built_in: bool = False) -> bool:
    """Whether ``current`` holds everything ``declared`` says.

    Objects may hold more; lists must be as long and cover element by element; null asks for
    absence.  For built-in kinds an empty value may be absent, because the server does not store
    it, and quantities may be written differently.
    """
    # Plain loops: this is what most of a pass consists of, and a generator doubles its cost.
    if isinstance(declared, dict):
        if not isinstance(current, dict):
            return False
        for key, wanted in declared.items():
            there = current.get(key)
            if type(wanted) is str and there == wanted:
                continue  # most fields are texts that agree
            if not _field_covered(there, key, wanted, current, built_in):
                return False
        return True
    if isinstance(declared, list):
        if not isinstance(current, list) or len(current) != len(declared):
            return False
        for there, wanted in zip(current, declared, strict=True):
            if not covers(there, wanted, built_in=built_in):
                return False
        return True
    return bool(current == declared) and isinstance(current, bool) == isinstance(declared, bool)


def _field_covered(
    there: Any, key: str, wanted: Any, current: dict[str, Any], built_in: bool
) -> bool:
    if wanted is None:
        return there is None
    if there is None:
        return built_in and _is_empty(wanted)
    if built_in and key in _STRING_MAPS:
        return covers(there, wanted)
    if built_in and key in _QUANTITY_MAPS and isinstance(wanted, dict) and isinstance(there, dict):
        return all(_amount_covered(there.get(name), value) for name, value in wanted.items())
    if built_in and (
        key in _QUANTITY_FIELDS or (key == "value" and current.get("type") == "Value")
    ):
        return same_quantity(there, wanted)
    return covers(there, wanted, built_in=built_in)


def _amount_covered(there: Any, wanted: Any) -> bool:
    if there is None or wanted is None or (type(wanted) is str and there == wanted):
        return bool(there == wanted)
    # A map of that name that holds no quantities is a map like any other.
    return same_quantity(there, wanted) or covers(there, wanted, built_in=True)


def shortened(current: Any, declared: Any) -> Any:
    """The object without what was appended to lists that were declared shorter.

    Admission does that to Pods: tolerations, the volume with the token, containers of a mesh.
    """
    if isinstance(current, dict) and isinstance(declared, dict):
        return {key: shortened(value, declared.get(key)) for key, value in current.items()}
    if isinstance(current, list) and isinstance(declared, list):
        return list(map(shortened, current, declared))
    return current


def _is_empty(wanted: Any) -> bool:
    """Whether the server stores nothing for it: false, 0, an empty text, list or map."""
    if isinstance(wanted, dict):
        return all(value is None for value in wanted.values())
    return not wanted


def leaves_doubt(declared: dict[str, Any] | list[Any], *, built_in: bool = False) -> bool:
    """Whether ``covers`` can be true although the object is not as declared.

    A field that was declared inside of a list element and no longer is looks like a default of
    the server; so does, for built-in kinds, an empty value that is absent.  Such content needs a
    fingerprint of what was last sent beside the comparison.
    """
    if isinstance(declared, dict):
        for key, value in declared.items():
            if not value and value is not None and built_in:
                return True
            if isinstance(value, dict | list) and leaves_doubt(
                value, built_in=built_in and key not in _STRING_MAPS
            ):
                return True
        return False
    return any(isinstance(element, dict | list) for element in declared)

"""Check the arguments of pydantic's ``Field``: a misspelled rule or marker would have no effect.

``Field(min_lenght=1)`` is not an error for pydantic.  It keeps names that it does not know as extra
keys of the JSON schema, with a warning that Python hides, and the definition would lack the rule.  A
name that is close to one of a rule is therefore refused when the class is defined.  Other extra keys
are allowed; they have no effect on a definition.

A marker such as ``Immutable()`` belongs into ``Annotated``.  As the default, or without parentheses, it
would be kept and ignored.
"""

from difflib import get_close_matches
from typing import Any

from pydantic.fields import FieldInfo

from myrmidon.api.typed.markers import (
    AtomicMap,
    Embedded,
    ListMap,
    ListSet,
    OpenApi,
    PreserveUnknown,
    Rule,
)
from myrmidon.api.typed.ready_made_rules import Immutable
from myrmidon.errors import DefinitionError

_RULES = (
    "alias", "decimal_places", "default", "default_factory", "description", "discriminator", "ge",
    "gt", "le", "lt", "max_digits", "max_length", "min_length", "multiple_of", "pattern",
)  # fmt: skip
_OTHER_NAMES = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length",
    "maxItems": "max_length", "multipleOf": "multiple_of", "regex": "pattern",
    "min_items": "min_length", "max_items": "max_length",
}  # fmt: skip
"""Rules under the names that JSON Schema or an older pydantic has for them."""


_MARKERS = (AtomicMap, Embedded, Immutable, ListMap, ListSet, OpenApi, PreserveUnknown, Rule)


def check_field_arguments(model: str, fields: dict[str, FieldInfo]) -> None:
    """Raise ``DefinitionError`` for a misspelled argument or a misplaced marker of a field."""
    for name, field in fields.items():
        _check_markers(f"{model}.{name}", name, field)
        extra: Any = field.json_schema_extra
        for given in extra if isinstance(extra, dict) else ():
            meant = _OTHER_NAMES.get(given) or next(
                iter(get_close_matches(given, _RULES, n=1, cutoff=0.8)), None
            )
            if meant is not None:
                raise DefinitionError(
                    f"{model}.{name} has Field({given}=...), which is not a rule and would have no effect.\n"
                    f"  fix: write {meant}="
                )


def _check_markers(where: str, name: str, field: FieldInfo) -> None:
    if isinstance(field.default, _MARKERS):
        marker, of = type(field.default).__name__, getattr(field.annotation, "__name__", "...")
        raise DefinitionError(
            f"{where} has the marker {marker}() as its default.\n"
            f"  fix: write {name}: Annotated[{of}, {marker}()]"
        )
    for each in field.metadata:
        if each in _MARKERS:
            raise DefinitionError(
                f"{where} has the marker {each.__name__} without parentheses, which would have no effect.\n"
                f"  fix: write Annotated[..., {each.__name__}(...)]"
            )

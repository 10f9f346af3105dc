"""Validation of selectableFields, the fields of field selectors in list and watch requests."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.fieldpaths import FieldPathError, follow
from myrmidon.apiserver.schema.structural import compile_schema

_MOST = 8
_TYPES = ("string", "boolean", "integer")


def check_selectable(fields: list[Json], openapi_v3: Json, path: str) -> list[StatusCause]:
    """Return the errors of the selectable fields of a version."""
    schema, seen, found = compile_schema(openapi_v3), dict[str, None](), list[StatusCause]()
    for index, field in enumerate(fields):
        where, given = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not given:
            found.append(causes.required(where))
            continue
        try:
            printed, node = follow(given, schema, brackets=False)
        except FieldPathError as error:
            found.append(causes.invalid(where, given, f"is an invalid path: {error}"))
            continue
        if printed.partition(".")[0] == "metadata":
            found.append(causes.invalid(where, given, "must not point to fields in metadata"))
        if node.type not in _TYPES:
            detail = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            found.append(causes.invalid(where, given, detail))
        if printed in seen:
            found.append(causes.duplicate(where, given))
        seen[printed] = None
    if len(seen) > _MOST:
        found.append(causes.too_many(path, len(seen), _MOST))
    return found

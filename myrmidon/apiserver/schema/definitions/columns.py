"""Validation of additionalPrinterColumns."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def check_columns(columns: list[Json] | None, path: str) -> list[StatusCause]:
    """Return the errors of the printer columns."""
    found: list[StatusCause] = []
    for index, column in enumerate(columns or ()):
        found += _check_column(column, f"{path}[{index}]")
    return found


def _check_column(column: Json, path: str) -> list[StatusCause]:
    found = [] if column.get("name") else [causes.required(f"{path}.name")]
    kind, types = column.get("type") or "", f"must be one of {','.join(_TYPES)}"
    if not kind:
        found.append(causes.required(f"{path}.type", types))
    elif kind not in _TYPES:
        found.append(causes.invalid(f"{path}.type", kind, types))
    printed = column.get("format") or ""
    if printed and printed not in _FORMATS:
        detail = f"must be one of {','.join(_FORMATS)}"
        found.append(causes.invalid(f"{path}.format", printed, detail))
    given = column.get("jsonPath") or ""
    if not given:
        found.append(causes.required(f"{path}.JSONPath"))
    return found + check_simple_path(given, f"{path}.JSONPath")


def check_simple_path(given: str, path: str) -> list[StatusCause]:
    """Return an error if a JSON path does not start with a dot; the rest of it is not checked."""
    if not given or given.startswith("."):
        return []
    return [causes.invalid(path, given, "must be a simple json path starting with .")]

"""The causes of an Invalid answer, with the words of Go's ``field.Error``."""

import json
from collections.abc import Iterable
from typing import Any

from myrmidon.apiserver.failures import Cause

IMMUTABLE = "field is immutable"


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A value that breaks a rule."""
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}{_tail(detail)}")


def required(field: str, detail: str = "") -> Cause:
    """A value that is missing."""
    return Cause(field, "FieldValueRequired", f"Required value{_tail(detail)}")


def forbidden(field: str, detail: str) -> Cause:
    """A value where none may be."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def not_supported(field: str, value: Any, known: Iterable[str]) -> Cause:
    """A value that is none of those known."""
    names = ", ".join(json.dumps(name) for name in known)
    return Cause(
        field,
        "FieldValueNotSupported",
        f"Unsupported value: {_shown(value)}: supported values: {names}",
    )


def duplicate(field: str, value: Any) -> Cause:
    """A value that is there already."""
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def too_long(field: str, limit: int) -> Cause:
    """A text with too many bytes."""
    return Cause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _tail(detail: str) -> str:
    return f": {detail}" if detail else ""

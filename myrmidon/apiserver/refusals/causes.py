"""The causes of a 422 (``details.causes`` of a Status), with the messages of the real server.

Each function makes one ``StatusCause``.  A path is a string; the empty path, which is the whole
object, is printed as ``<nil>``, because Go prints a nil path that way.
"""

from collections.abc import Iterable
from typing import Any

from myrmidon.apiserver.golang import text as go_text
from myrmidon.apiserver.refusals.failures import StatusCause

INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
REQUIRED = "FieldValueRequired"
FORBIDDEN = "FieldValueForbidden"
NOT_SUPPORTED = "FieldValueNotSupported"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"

IMMUTABLE = "field is immutable"

# Stands for a value that is left out of the message, for example a whole object.
OMITTED: Any = object()


def at(path: str) -> str:
    """Return the path as it appears in the Status."""
    return path or "<nil>"


def child(path: str, name: str) -> str:
    """Return the path of a field inside ``path``."""
    return f"{path}.{name}" if path else name


def invalid(path: str, value: Any, detail: str, reason: str = INVALID) -> StatusCause:
    """Return the cause for a value that breaks a rule (or has the wrong type: ``TYPE_INVALID``)."""
    return StatusCause(at(path), reason, _with(_about("Invalid value", value), detail))


def required(path: str, detail: str = "") -> StatusCause:
    """Return the cause for a missing value."""
    return StatusCause(at(path), REQUIRED, _with("Required value", detail))


def forbidden(path: str, detail: str) -> StatusCause:
    """Return the cause for a value that must not be set."""
    return StatusCause(at(path), FORBIDDEN, _with("Forbidden", detail))


def not_supported(path: str, value: Any, supported: Iterable[str]) -> StatusCause:
    """Return the cause for a value that is not one of the supported values."""
    choices = ", ".join(go_text.quote(choice) for choice in supported)
    body = _about("Unsupported value", value)
    return StatusCause(
        at(path), NOT_SUPPORTED, _with(body, f"supported values: {choices}" if choices else "")
    )


def duplicate(path: str, value: Any, detail: str = "") -> StatusCause:
    """Return the cause for a value that occurs twice."""
    return StatusCause(at(path), DUPLICATE, _with(_about("Duplicate value", value), detail))


def too_long(path: str, limit: int) -> StatusCause:
    """Return the cause for a string that is too long.

    The limit is in characters, although the message of the real server says bytes.
    """
    unit = "byte" if limit == 1 else "bytes"
    return StatusCause(at(path), TOO_LONG, f"Too long: may not be more than {limit} {unit}")


def too_many(path: str, size: int, limit: int) -> StatusCause:
    """Return the cause for a list or map with too many items."""
    unit = "item" if limit == 1 else "items"
    return StatusCause(at(path), TOO_MANY, f"Too many: {size}: must have at most {limit} {unit}")


def internal(path: str, detail: str) -> StatusCause:
    """Return the cause for an unexpected error while a field was validated."""
    return StatusCause(at(path), INTERNAL, _with("Internal error", detail))


def _about(what: str, value: Any) -> str:
    return what if value is OMITTED else f"{what}: {go_text.shown(value)}"


def _with(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body

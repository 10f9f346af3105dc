"""What is wrong with a field, in the words of the real server.

Each function makes one ``StatusCause``.  A path is a string here; the empty one, that of the whole
object, is printed as ``<nil>``, as Go prints a path that is not there.
"""

from collections.abc import Iterable
from typing import Any

from myrmidon.apiserver.failures import StatusCause
from myrmidon.apiserver.golang import text as go_text

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

# The value of an object is not repeated to the one who has sent it.
OMITTED: Any = object()


def at(path: str) -> str:
    """The path as it is sent."""
    return path or "<nil>"


def child(path: str, name: str) -> str:
    """The path of a field."""
    return f"{path}.{name}" if path else name


def invalid(path: str, value: Any, detail: str, reason: str = INVALID) -> StatusCause:
    """A value that breaks a rule; of the wrong type, if ``reason`` says so."""
    return StatusCause(at(path), reason, _with(_about("Invalid value", value), detail))


def required(path: str, detail: str = "") -> StatusCause:
    """A value that is not there."""
    return StatusCause(at(path), REQUIRED, _with("Required value", detail))


def forbidden(path: str, detail: str) -> StatusCause:
    """A value that may not be there."""
    return StatusCause(at(path), FORBIDDEN, _with("Forbidden", detail))


def not_supported(path: str, value: Any, supported: Iterable[str]) -> StatusCause:
    """A value that is none of those that are possible."""
    choices = ", ".join(go_text.quote(choice) for choice in supported)
    body = _about("Unsupported value", value)
    return StatusCause(
        at(path), NOT_SUPPORTED, _with(body, f"supported values: {choices}" if choices else "")
    )


def duplicate(path: str, value: Any) -> StatusCause:
    """A value that is there already."""
    return StatusCause(at(path), DUPLICATE, _about("Duplicate value", value))


def too_long(path: str, limit: int) -> StatusCause:
    """A text that is too long.  The server says bytes and counts characters."""
    unit = "byte" if limit == 1 else "bytes"
    return StatusCause(at(path), TOO_LONG, f"Too long: may not be more than {limit} {unit}")


def too_many(path: str, size: int, limit: int) -> StatusCause:
    """A list or map that is too large."""
    unit = "item" if limit == 1 else "items"
    return StatusCause(at(path), TOO_MANY, f"Too many: {size}: must have at most {limit} {unit}")


def internal(path: str, detail: str) -> StatusCause:
    """An error that should not happen."""
    return StatusCause(at(path), INTERNAL, _with("Internal error", detail))


def _about(what: str, value: Any) -> str:
    return what if value is OMITTED else f"{what}: {go_text.shown(value)}"


def _with(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body

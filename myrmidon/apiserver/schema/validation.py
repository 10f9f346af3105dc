"""Validate an object against its schema.

Four checks run in the order of the real server: the values against the schema, the embedded
objects, the lists of type set and map for duplicates, and the CEL rules (``rules.check_rules``).
The rules do not run if an earlier check found an error that would break their evaluation, for
example a value of the wrong type; an additional error says so.
"""

from collections.abc import Iterable
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.embedded import check_embedded
from myrmidon.apiserver.schema.listtypes import check_lists
from myrmidon.apiserver.schema.problems import UNCORRELATED, Check, Report
from myrmidon.apiserver.schema.rules import check_rules, has_rules
from myrmidon.apiserver.schema.values import compile_node
from myrmidon.apiserver.schema_node import Schema

_PLAN = "validation"
_BLOCKING = frozenset(
    (
        causes.NOT_SUPPORTED,
        causes.REQUIRED,
        causes.TOO_LONG,
        causes.TOO_MANY,
        causes.TYPE_INVALID,
    )
)
_NOT_CHECKED = causes.invalid(
    "",
    None,
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
)


def validate(obj: Json, schema: Schema, old: Json | None = None) -> list[StatusCause]:
    """Return the errors of all checks except the rules.

    With ``old``, errors of values that have not changed are dropped, and duplicates in lists are
    not reported if the old object had duplicates, too.
    """
    found = check_values(obj, schema, UNCORRELATED if old is None else old)
    found += check_embedded(obj, schema)
    return found + _new_duplicates(obj, schema, old)


def check_values(
    value: Any, schema: Schema, old: Any = UNCORRELATED, path: str = ""
) -> list[StatusCause]:
    """Return the errors of a value, or of the part of an object at ``path``, against its schema."""
    check: Check | None = schema.plans.get(_PLAN)
    if check is None:
        check = schema.plans[_PLAN] = compile_node(schema.source).check
    report = Report()
    check(value, "", UNCORRELATED, report)
    if report.problems and old is not UNCORRELATED:
        # Most objects are valid, so the comparison with the old object is made only for errors.
        report = Report()
        check(value, "", old, report)
    return report.causes(path) if report.problems else []


def check_object(obj: Json, schema: Schema, old: Json | None = None) -> list[StatusCause]:
    """Return all errors of an object that is created, or updated from ``old``."""
    return _with_rules(validate(obj, schema, old), obj, schema, old)


def check_status(obj: Json, schema: Schema, old: Json) -> list[StatusCause]:
    """Return all errors of an update through the status subresource.

    The values of the status are validated as if it were an object of its own, so the paths in these
    messages do not start with ``status``.
    """
    found: list[StatusCause] = []
    status_schema = schema.properties.get("status")
    if "status" in obj and status_schema is not None:
        before = old.get("status", UNCORRELATED)
        found = check_values(obj["status"], status_schema, before, "status")
    return _with_rules(found + _new_duplicates(obj, schema, old), obj, schema, old)


def _new_duplicates(obj: Json, schema: Schema, old: Json | None) -> list[StatusCause]:
    found = check_lists(obj, schema)
    return [] if found and old is not None and check_lists(old, schema) else found


def _with_rules(
    found: list[StatusCause], obj: Json, schema: Schema, old: Json | None
) -> list[StatusCause]:
    if not has_rules(schema):
        return found
    if is_blocking(found):
        return [*found, _NOT_CHECKED]
    return found + check_rules(obj, schema, old)


def is_blocking(found: Iterable[StatusCause]) -> bool:
    """Whether one of the errors prevents the evaluation of rules."""
    return any(cause.reason in _BLOCKING for cause in found)

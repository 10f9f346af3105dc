"""Whether an object is what its schema says.

The real server asks four times: for the values, for embedded objects, for lists with rules in
them twice, and for the rules (``rules.check_rules``), which are left out if the object is so wrong
that they would stumble.
"""

from collections.abc import Iterable
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver import causes
from myrmidon.apiserver.failures import StatusCause
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
    """Everything but the rules.

    With ``old``, what was wrong there already may stay: values that have not changed are forgiven,
    and lists are not asked for duplicates if the old object had some.
    """
    found = check_values(obj, schema, UNCORRELATED if old is None else old)
    found += check_embedded(obj, schema)
    return found + _new_duplicates(obj, schema, old)


def check_values(
    value: Any, schema: Schema, old: Any = UNCORRELATED, path: str = ""
) -> list[StatusCause]:
    """The value, or a part of an object at ``path``, against its schema alone."""
    check: Check | None = schema.plans.get(_PLAN)
    if check is None:
        check = schema.plans[_PLAN] = compile_node(schema.source).check
    report = Report()
    check(value, "", UNCORRELATED, report)
    if report.problems and old is not UNCORRELATED:
        # Most objects are fine, so what they were before is looked at only if they are not.
        report = Report()
        check(value, "", old, report)
    return report.causes(path) if report.problems else []


def check_object(obj: Json, schema: Schema, old: Json | None = None) -> list[StatusCause]:
    """All that the schema asks of an object that is created, or updated from ``old``."""
    return _with_rules(validate(obj, schema, old), obj, schema, old)


def check_status(obj: Json, schema: Schema, old: Json) -> list[StatusCause]:
    """All that the schema asks of an update through the status subresource.

    Only the status is compared with its schema, as if it were an object of its own: the texts do
    not say where it is.
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
    """Whether rules would stumble over what was found."""
    return any(cause.reason in _BLOCKING for cause in found)

"""Validation rules: evaluate ``x-kubernetes-validations`` on an object.

The rules of a schema are compiled when the first object reaches them, and cached in its nodes.  The
object is walked along the trail to the nodes that have rules.  Each value on the way has two
counterparts in the old object: ``oldSelf`` for the rules, and the value that ratcheting compares
with.  An item of a list has counterparts only in a list of type map, where its keys identify it.

- A rule that uses ``oldSelf`` is skipped if there is no old value, unless ``optionalOldSelf`` is
  set.
- A rule that does not use ``oldSelf`` may fail for an unchanged value (ratcheting).
- All rules of an object share one cost budget.  When it is exhausted, or when a single rule exceeds
  its own limit, the evaluation ends with that error.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.fieldpaths import FieldPathError, follow
from myrmidon.apiserver.schema.problems import UNCORRELATED
from myrmidon.apiserver.schema.programs import (
    CostError,
    EvaluationError,
    compile_program,
    evaluate,
)
from myrmidon.apiserver.schema.ratcheting import by_keys, is_unchanged, key_of
from myrmidon.apiserver.schema.trails import Trail, trail_to
from myrmidon.apiserver.schema_node import Schema

if TYPE_CHECKING:
    from myrmidon.apiserver.cel import Program

RULES = "x-kubernetes-validations"
_PLAN, _TRAIL = "rules", "rules-trail"
_MESSAGE_BYTES_MAX = 5 * 1024
_TYPE_FIELDS = ("apiVersion", "kind")
_LAST = "no further validation rules will be run"
BUDGET = 10_000_000  # for all rules of one object, in CEL cost units


@dataclass(slots=True, eq=False)
class _Rule:
    """A compiled rule."""

    written: Json
    program: "Program"
    message: "Program | None"
    path: str  # of the field that errors name, relative to the one that has the rule
    optional_old: bool

    @property
    def text(self) -> str:
        """The name of the rule in error messages: its message, or else its expression."""
        return str(self.written.get("message") or self.written.get("rule") or "").strip()

    @property
    def complaint(self) -> str:
        """The error message of a failed rule that has no ``messageExpression``."""
        return self.text if self.written.get("message") else f"failed rule: {self.text}"


@dataclass(slots=True, eq=False)
class _Place:
    """A value on the way to the rules, with its counterparts in the old object."""

    value: Any
    old: Any  # oldSelf of the rules; None if there is no old value
    before: Any  # the old value for ratcheting; UNCORRELATED if there is none
    source: Json
    parent: "_Place | None"

    def is_forgiven(self) -> bool:
        """Whether the value, or its nearest ancestor with an old value, is unchanged."""
        place: _Place | None = self
        if self.before is UNCORRELATED:
            place = self.parent
            while place is not None and place.before is UNCORRELATED:
                place = place.parent
        return place is not None and is_unchanged(place.value, place.before, place.source)


class _OutOfBudgetError(Exception):
    """The evaluation ends, because the rules of the object have exceeded their cost budget."""


@dataclass(slots=True, eq=False)
class _Findings:
    """The errors found in an object, and the cost budget that is left."""

    causes: list[StatusCause]
    left: int = field(default_factory=lambda: BUDGET)

    def spend(self, program: "Program", path: str, schema: Schema) -> None:
        """Subtract the cost of a program's last run; stop if the budget is exhausted."""
        self.left -= program.spent
        if self.left < 0:
            text = f"validation failed due to running out of cost budget, {_LAST}"
            self.stop(causes.invalid(path, schema.type, text))

    def stop(self, cause: StatusCause) -> NoReturn:
        """Add the last error and end the evaluation."""
        self.causes.append(cause)
        raise _OutOfBudgetError


def has_rules(schema: Schema) -> bool:
    """Whether any node of the schema has rules."""
    return _trail(schema) is not None


def _trail(schema: Schema) -> Trail | None:
    return trail_to(schema, _TRAIL, lambda node: bool(node.source.get(RULES)))


def check_rules(
    value: Any, schema: Schema, old: Any = None, *, path: str = "", root: bool = True
) -> list[StatusCause]:
    """Return the errors of all rules that do not hold for the value.

    ``old`` is None for a new object.  Rules that use the old value run only where it exists, or if
    they set ``optionalOldSelf``; the other rules may fail for values that have not changed.  With
    ``root``, the value is a whole object, and its rules can read its metadata.
    """
    trail = _trail(schema)
    found: list[StatusCause] = []
    if trail is not None:
        before = UNCORRELATED if old is None else old
        place = _Place(value, old, before, schema.source, None)
        with suppress(_OutOfBudgetError):  # its error is already the last of those found
            _walk(place, trail, path, _Findings(found), root=root)
    return found


def _walk(place: _Place, trail: Trail, path: str, found: "_Findings", *, root: bool) -> None:
    if place.value is None:
        return
    if trail.here:
        for rule in _compiled(trail.schema, root=root or trail.schema.embedded_resource):
            _apply(rule, place, trail.schema, path, found)
    for child, item, where in trail.below(place.value, path):
        key = where[len(path) :]
        old, before = _old_values(place, trail.schema, item, key, root=root)
        below = _Place(item, old, before, child.schema.source, place)
        _walk(below, child, where, found, root=False)


def _old_values(
    place: _Place, schema: Schema, item: Any, key: str, *, root: bool
) -> tuple[Any, Any]:
    """Return the old value of a field or item: as ``oldSelf``, and for ratcheting."""
    if isinstance(place.value, list):
        keys = schema.list_map_keys if schema.list_type == "map" else ()
        if not keys:
            return None, UNCORRELATED
        old = _keyed(place.old, keys).get(key_of(item, keys))
        before = _keyed(place.before, keys).get(key_of(item, keys), UNCORRELATED)
        return old, before
    name = key.removeprefix(".") if not key.startswith("[") else key[1:-1]
    old = place.old.get(name) if isinstance(place.old, dict) else None
    if root and name in _TYPE_FIELDS:
        return old, UNCORRELATED
    known = isinstance(place.before, dict)
    return old, place.before.get(name, UNCORRELATED) if known else UNCORRELATED


def _keyed(items: Any, keys: tuple[str, ...]) -> dict[Any, Any]:
    return by_keys(items, keys) if isinstance(items, list) else {}


def _apply(rule: _Rule, place: _Place, schema: Schema, path: str, found: _Findings) -> None:
    program = rule.program
    if program.uses_old_self and place.old is None and not rule.optional_old:
        return
    try:
        holds = evaluate(program, place.value, place.old)
    except CostError as error:
        text = f"'{error}': {_LAST} due to call cost exceeds limit for rule: {rule.text}"
        found.stop(causes.invalid(path, schema.type, text))
    except EvaluationError as error:
        found.spend(program, path, schema)
        found.causes.append(causes.invalid(path, schema.type, _evaluation_error(str(error), rule)))
        return
    found.spend(program, path, schema)
    if holds is True:
        return
    cause = _cause_of(rule, place, schema, path)
    if program.uses_old_self or not place.is_forgiven():
        found.causes.append(cause)


def _evaluation_error(error: str, rule: _Rule) -> str:
    if error.startswith("no such overload"):
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {rule.text}"
        )
    return f"{error} evaluating rule: {rule.text}"


def _cause_of(rule: _Rule, place: _Place, schema: Schema, path: str) -> StatusCause:
    where = causes.child(path, rule.path) if rule.path else path
    detail = _computed_message(rule, place) or rule.complaint
    value = causes.OMITTED if schema.type in ("object", "array") else place.value
    match rule.written.get("reason"):
        case causes.FORBIDDEN:
            return causes.forbidden(where, detail)
        case causes.REQUIRED:
            return causes.required(where, detail)
        case causes.DUPLICATE:
            return causes.duplicate(where, value)
        case _:
            return causes.invalid(where, value, detail)


def _computed_message(rule: _Rule, place: _Place) -> str:
    """Return the result of the messageExpression; empty if it fails or is not a valid message."""
    if rule.message is None:
        return ""
    try:
        made = evaluate(rule.message, place.value, place.old)
    except EvaluationError:
        return ""
    text = made.strip() if isinstance(made, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_BYTES_MAX else text


def _compiled(schema: Schema, *, root: bool) -> list[_Rule]:
    plan: list[_Rule] | None = schema.plans.get(_PLAN)
    if plan is None:
        plan = schema.plans[_PLAN] = [
            _compile(written, schema, root=root)
            for written in schema.source[RULES]
            if str(written.get("rule") or "").strip()
        ]
    return plan


def _compile(written: Json, schema: Schema, *, root: bool) -> _Rule:
    optional = bool(written.get("optionalOldSelf"))
    program = compile_program(written["rule"], schema, root=root, optional_old=optional)
    message = written.get("messageExpression")
    path = ""
    if written.get("fieldPath"):
        try:
            path = follow(written["fieldPath"], schema)[0]
        except FieldPathError:
            path = ""
    return _Rule(
        written,
        program,
        _compile_message(message, schema, root=root, optional=optional) if message else None,
        path,
        optional,
    )


def _compile_message(text: str, schema: Schema, *, root: bool, optional: bool) -> "Program":
    return compile_program(text, schema, root=root, optional_old=optional, message=True)

"""Validation of the rules in a schema: their fields, and whether their expressions compile."""

import re

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.text import Struct
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.definitions.costs import Cost, check_cost, times
from myrmidon.apiserver.schema.fieldpaths import FieldPathError, follow
from myrmidon.apiserver.schema.programs import CompileError, UntypedError, compile_program
from myrmidon.apiserver.schema.rules import RULES
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema_node import Schema

_REASONS = (causes.DUPLICATE, causes.FORBIDDEN, causes.INVALID, causes.REQUIRED)
_UNTYPED = (
    f"internal error: failed to construct type information for {RULES} rules: unable to convert "
    "structural schema to CEL declarations"
)
_LINE_BREAK = re.compile(r"[\n\r]")


def check_rule_fields(schema: Json, path: str) -> list[StatusCause]:
    """Return the errors in the fields of the rules.  The expressions are not compiled here."""
    found: list[StatusCause] = []
    for index, rule in enumerate(schema[RULES]):
        where = f"{path}.{RULES}[{index}]"
        found += _check_texts(rule, where)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(causes.not_supported(f"{where}.reason", reason, _REASONS))
        found += _check_field_path(rule.get("fieldPath") or "", schema, f"{where}.fieldPath")
    return found


def _check_texts(rule: Json, path: str) -> list[StatusCause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    found: list[StatusCause] = []
    where = f"{path}.message"
    if not text:
        found.append(causes.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        found.append(causes.invalid(where, message, "must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        found.append(causes.invalid(where, message, "must not contain line breaks"))
    elif _LINE_BREAK.search(text) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        found.append(causes.required(where, detail))
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        found.append(causes.required(f"{path}.messageExpression", detail))
    return found


def _check_field_path(given: str, schema: Json, path: str) -> list[StatusCause]:
    if not given:
        return []
    found: list[StatusCause] = []
    if not given.strip():
        found.append(causes.invalid(path, given, "must be non-empty if specified"))
    if _LINE_BREAK.search(given):
        found.append(causes.invalid(path, given, "must not contain line breaks"))
    try:
        follow(given, compile_schema(schema))
    except FieldPathError:
        found.append(causes.invalid(path, given, "must be a valid path"))
    return found


def check_expressions(
    schema: Json, path: str, *, root: bool, uncorrelatable: str, cardinality: int | None
) -> tuple[list[StatusCause], list[Cost]]:
    """Compile the expressions of the rules; return their errors and their costs.

    ``cardinality`` says how many values of the schema one object can have, None if unlimited; the
    cost of a rule is multiplied by it.  ``uncorrelatable`` is the path inside which ``oldSelf``
    cannot be used, or "".
    """
    node = compile_schema(schema)
    found: list[StatusCause] = []
    costs: list[Cost] = []
    for index, rule in enumerate(schema[RULES]):
        where = f"{path}.{RULES}[{index}]"
        optional = bool(rule.get("optionalOldSelf"))
        try:
            program = compile_program(rule["rule"], node, root=root, optional_old=optional)
        except UntypedError:
            return [causes.internal(f"{path}.{RULES}", _UNTYPED)], []
        except CompileError as error:
            found.append(causes.invalid(f"{where}.rule", _shown(rule), str(error)))
            found += _check_old_self(rule, where, uncorrelatable, uses=False)
            continue
        often = program.max_cardinality if cardinality is None else cardinality
        cost = Cost(f"{where}.rule", times(program.max_cost, often))
        costs.append(cost)
        found += check_cost(cost, "rule")
        if rule.get("messageExpression"):
            _check_message(rule, node, where, (found, costs), root=root)
        found += _check_old_self(rule, where, uncorrelatable, uses=program.uses_old_self)
    return found, costs


def _check_message(
    rule: Json,
    node: Schema,
    path: str,
    results: tuple[list[StatusCause], list[Cost]],
    *,
    root: bool,
) -> None:
    found, costs = results
    where, optional = f"{path}.messageExpression", bool(rule.get("optionalOldSelf"))
    try:
        program = compile_program(
            rule["messageExpression"], node, root=root, optional_old=optional, message=True
        )
    except CompileError as error:
        found.append(causes.invalid(where, _shown(rule), str(error)))
        return
    cost = Cost(where, program.max_cost)
    costs.append(cost)
    found += check_cost(cost, "messageExpression")


def _check_old_self(rule: Json, path: str, uncorrelatable: str, *, uses: bool) -> list[StatusCause]:
    if uses and uncorrelatable:
        detail = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{uncorrelatable}"
        )
        return [causes.invalid(f"{path}.rule", rule["rule"], detail)]
    if not uses and rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        return [causes.invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)]
    return []


def _shown(rule: Json) -> Struct:
    return Struct(
        Rule=rule.get("rule") or "",
        Message=rule.get("message") or "",
        MessageExpression=rule.get("messageExpression") or "",
        Reason=rule.get("reason"),
        FieldPath=rule.get("fieldPath") or "",
        OptionalOldSelf=rule.get("optionalOldSelf"),
    )

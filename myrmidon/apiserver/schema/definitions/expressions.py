"""Rules of a definition: their fields, and whether their expressions make sense."""

import re

from myrmidon.api.objects import Json
from myrmidon.apiserver.failures import Cause
from myrmidon.apiserver.schema import causes
from myrmidon.apiserver.schema.fieldpaths import FieldPathError, follow
from myrmidon.apiserver.schema.gotext import Struct
from myrmidon.apiserver.schema.programs import CompileError, compile_program
from myrmidon.apiserver.schema.rules import RULES
from myrmidon.apiserver.schema.structural import compile_schema

_REASONS = (causes.DUPLICATE, causes.FORBIDDEN, causes.INVALID, causes.REQUIRED)
_LINE_BREAK = re.compile(r"[\n\r]")


def check_rule_fields(schema: Json, path: str) -> list[Cause]:
    """The fields of the rules; the expressions are only looked at for being there."""
    found: list[Cause] = []
    for index, rule in enumerate(schema[RULES]):
        where = f"{path}.{RULES}[{index}]"
        found += _check_texts(rule, where)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(causes.not_supported(f"{where}.reason", reason, _REASONS))
        found += _check_field_path(rule.get("fieldPath") or "", schema, f"{where}.fieldPath")
    return found


def _check_texts(rule: Json, path: str) -> list[Cause]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    found: list[Cause] = []
    where = f"{path}.message"
    if not text:
        found.append(causes.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        found.append(causes.invalid(where, message, "message must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        found.append(causes.invalid(where, message, "message must not contain line breaks"))
    elif _LINE_BREAK.search(text) and not message.strip():
        detail = "message must be specified if rule contains line breaks"
        found.append(causes.required(where, detail))
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        found.append(causes.required(f"{path}.messageExpression", detail))
    return found


def _check_field_path(given: str, schema: Json, path: str) -> list[Cause]:
    if not given:
        return []
    found: list[Cause] = []
    if not given.strip():
        found.append(causes.invalid(path, given, "fieldPath must be non-empty if specified"))
    if _LINE_BREAK.search(given):
        found.append(causes.invalid(path, given, "fieldPath must not contain line breaks"))
    try:
        follow(given, compile_schema(schema))
    except FieldPathError:
        found.append(causes.invalid(path, given, "fieldPath must be a valid path"))
    return found


def check_expressions(schema: Json, path: str, *, root: bool, uncorrelatable: str) -> list[Cause]:
    """The expressions of the rules, compiled against the schema that they stand in."""
    node = compile_schema(schema)
    found: list[Cause] = []
    for index, rule in enumerate(schema[RULES]):
        where = f"{path}.{RULES}[{index}]"
        optional = bool(rule.get("optionalOldSelf"))
        try:
            program = compile_program(rule["rule"], node, root=root, optional_old=optional)
        except CompileError as error:
            found.append(causes.invalid(f"{where}.rule", _shown(rule), str(error)))
            continue
        if rule.get("messageExpression"):
            try:
                compile_program(rule["messageExpression"], node, root=root, optional_old=optional)
            except CompileError as error:
                given = f"{where}.messageExpression"
                found.append(causes.invalid(given, _shown(rule), str(error)))
        if program.uses_old_self and uncorrelatable:
            detail = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                f"{uncorrelatable}"
            )
            found.append(causes.invalid(f"{where}.rule", rule["rule"], detail))
        if not program.uses_old_self and rule.get("optionalOldSelf") is not None:
            detail = "may not be set if oldSelf is not used in rule"
            where = f"{where}.optionalOldSelf"
            found.append(causes.invalid(where, rule["optionalOldSelf"], detail))
    return found


def _shown(rule: Json) -> Struct:
    return Struct(
        Rule=rule.get("rule") or "",
        Message=rule.get("message") or "",
        MessageExpression=rule.get("messageExpression") or "",
        Reason=rule.get("reason"),
        FieldPath=rule.get("fieldPath") or "",
        OptionalOldSelf=rule.get("optionalOldSelf"),
    )

"""Compile a schema into a check of values.

The result is a tree of nodes with closures.  Each node has a list of checks per Python type.  A
parent skips its child for values of a type without checks (``ValueNode.plain``): most values of an
object are of such a type.

``anyOf``, ``oneOf``, ``allOf`` and ``not`` run their alternatives on reports of their own, without
ratcheting.  If no alternative fits, the alternatives run once more with counting, because the real
server reports the errors of the alternative that passed most checks.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import text as go_text
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.schema import problems, scalars
from myrmidon.apiserver.schema.problems import UNCORRELATED, Check, Problem, Report
from myrmidon.apiserver.schema.ratcheting import by_keys, is_unchanged, key_of, map_keys

_TYPE_FIELDS = ("apiVersion", "kind")


class ValueNode:
    """A compiled schema.  Values of a type in ``plain`` need no check, except for counting."""

    __slots__ = ("check", "plain")

    def __init__(self, check: Check, plain: frozenset[type]) -> None:
        self.check, self.plain = check, plain


def compile_node(source: Json) -> ValueNode:
    """Compile the check of values against a schema in its JSON form."""
    combined = _combinations(source)
    plans = {kind: _plan(source, kind, combined) for kind in scalars.KINDS}
    plans[type(None)] = _null_plan(source)

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        parts, matches = plans[type(value)]
        report.matches += matches
        found = report.problems
        before = len(found)
        for part in parts:
            part(value, path, old, report)
        if len(found) > before and old is not UNCORRELATED and is_unchanged(value, old, source):
            del found[before:]

    plain = frozenset(kind for kind, (parts, _) in plans.items() if not parts)
    return ValueNode(check, plain)


def _plan(source: Json, kind: type, combined: list[Check]) -> tuple[tuple[Check, ...], int]:
    """Return the checks for values of a Python type, and how many the real server counts for it."""
    wrong = scalars.type_check(source, kind)
    typed = bool(scalars.types_of(source) or scalars.format_of(source))
    matches = 4 + (2 if typed else 0)
    if wrong and scalars.type_verdict(source, kind, integral=True):
        matches -= 1
    parts: list[Check | None] = [wrong, *combined]
    if kind is str:
        matched = scalars.format_check(source)
        parts += [scalars.string_check(source), matched]
        matches += 1 + (matched is not None)
    elif kind in (int, float):
        parts.append(scalars.number_check(source))
        matches += 2
    elif kind is list:
        parts.append(_list_check(source))
        matches += 2
    parts.append(scalars.enum_check(source))
    if kind is dict:
        parts.append(_object_check(source))
        matches += 1
    return tuple(part for part in parts if part is not None), matches


def _null_plan(source: Json) -> tuple[tuple[Check, ...], int]:
    """Return the checks for null: the type and the enumeration, and nothing else."""
    types, enum = scalars.types_of(source), scalars.enum_check(source)
    rest = (enum,) if enum is not None else ()
    if not types or source.get("nullable"):
        return rest, 1

    def check(_value: Any, path: str, _old: Any, report: Report) -> None:
        report.add(problems.wrong_type(path, ",".join(types), "null"))

    return (check, *rest), 0


def _combinations(source: Json) -> list[Check]:
    checks: list[Check] = []
    for name, combine in (("anyOf", _any_of), ("oneOf", _one_of), ("allOf", _all_of)):
        if source.get(name):
            checks.append(combine([compile_node(each).check for each in source[name]]))
    if source.get("not") is not None:
        checks.append(_not(compile_node(source["not"]).check))
    return checks


def _try(check: Check, value: Any, path: str, around: Report) -> Report:
    """Run an alternative on a report of its own, without ratcheting."""
    report = Report(counting=around.counting)
    check(value, path, UNCORRELATED, report)
    return report


def _closest(alternatives: list[Check], value: Any, path: str) -> Report:
    """Return the report of the alternative that passed most checks, given that all of them fail."""
    reports = [Report(counting=True) for _ in alternatives]
    for alternative, report in zip(alternatives, reports, strict=True):
        alternative(value, path, UNCORRELATED, report)
    return max(reports, key=lambda report: report.matches)


def _any_of(alternatives: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        for alternative in alternatives:
            tried = _try(alternative, value, path, report)
            if not tried.problems:
                report.matches += tried.matches
                return
        text = f"{go_text.quote(path)} must validate at least one schema (anyOf)"
        report.add(problems.combined(text))
        report.absorb(_closest(alternatives, value, path))

    return check


def _one_of(alternatives: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        tried = [_try(alternative, value, path, report) for alternative in alternatives]
        valid = [each for each in tried if not each.problems]
        if len(valid) == 1:
            report.matches += valid[0].matches
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        text = f"{go_text.quote(path)} must validate one and only one schema (oneOf). {found}"
        report.add(problems.combined(text))
        if not valid:
            report.absorb(_closest(alternatives, value, path))

    return check


def _all_of(parts: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        tried = [_try(part, value, path, report) for part in parts]
        for each in tried:
            report.absorb(each)
        failed = sum(bool(each.problems) for each in tried)
        if failed:
            none = ". None validated" if failed == len(parts) else ""
            text = f"{go_text.quote(path)} must validate all the schemas (allOf){none}"
            report.add(problems.combined(text))

    return check


def _not(forbidden: Check) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if not _try(forbidden, value, path, report).problems:
            text = f"{go_text.quote(path)} must not validate the schema (not)"
            report.add(problems.combined(text))

    return check


def _list_check(source: Json) -> Check | None:
    items, keys = source.get("items"), map_keys(source)
    fewest, most = source.get("minItems"), source.get("maxItems")
    node = compile_node(items) if isinstance(items, dict) else None
    if node is None and fewest is None and most is None:
        return None

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        if node is not None:
            _check_items(value, old, path, report, node=node, keys=keys)
        _check_size(len(value), path, report, fewest=fewest, most=most, what="items")

    return check


def _check_items(
    value: list[Any], old: Any, path: str, report: Report, *, node: ValueNode, keys: tuple[str, ...]
) -> None:
    plain, check = node.plain if not report.counting else (), node.check
    earlier = by_keys(old, keys) if keys and isinstance(old, list) else {}
    before = UNCORRELATED
    for index, item in enumerate(value):
        if type(item) in plain:
            continue
        if earlier:
            before = earlier.get(key_of(item, keys), UNCORRELATED)
        check(item, f"{path}[{index}]", before, report)


def _object_check(source: Json) -> Check:
    fields, size_check = _fields_check(source), _size_check(source)
    required = tuple(source.get("required") or ())
    if size_check is None and not required:
        return fields

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        if size_check is not None:
            size_check(value, path, old, report)
        fields(value, path, old, report)
        for name in required:
            if name not in value:
                report.add(problems.missing(f"{path}.{name}"))

    return check


def _size_check(source: Json) -> Check | None:
    fewest, most = source.get("minProperties"), source.get("maxProperties")
    if fewest is None and most is None:
        return None

    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        _check_size(len(value), path, report, fewest=fewest, most=most, what="properties")

    return check


def _check_size(
    size: int, path: str, report: Report, *, fewest: int | None, most: int | None, what: str
) -> None:
    if fewest is not None and size < fewest:
        report.add(problems.broken(path, size, f"should have at least {fewest} {what}"))
    if most is not None and size > most:
        report.add(problems.too_many(path, size, most, what))


def _fields_check(source: Json) -> Check:
    """Return the check of the fields of an object.  Validation spends most of its time here."""
    nodes = {
        name: compile_node(schema) for name, schema in (source.get("properties") or {}).items()
    }
    additional = source.get("additionalProperties")
    other = compile_node(additional) if isinstance(additional, dict) else None
    closed = additional is False

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        if closed:
            _forbid_others(value, nodes, path, report)
        earlier = old if isinstance(old, dict) else None
        counting, before = report.counting, UNCORRELATED
        for key, item in value.items():
            node = nodes.get(key, other)
            if node is None or (type(item) in node.plain and not counting):
                continue
            if earlier is not None:
                before = earlier.get(key, UNCORRELATED)
                # Old and new objects are converted to the same version, so these never differ.
                if not path and key in _TYPE_FIELDS:
                    before = UNCORRELATED
            where = f"{path}.{key}" if path or node is other else key
            node.check(item, where, before, report)

    return check


def _forbid_others(value: Json, known: dict[str, ValueNode], path: str, report: Report) -> None:
    for key in value:
        if key not in known:
            report.add(_forbidden(path, key))


def _forbidden(path: str, key: str) -> Problem:
    text = f"{path}.{key} in body is a forbidden property"
    return Problem(path, text, lambda field: causes.invalid(field, key, text))

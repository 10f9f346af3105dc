"""From a schema to a check of values, compiled once.

The result is a tree of closures.  Each node knows for each Python type which checks are worth
running, so that a value that fits costs little more than the walk over it.
"""

from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver.schema import causes, gotext, problems, scalars
from myrmidon.apiserver.schema.problems import UNCORRELATED, Check, Problem, Report
from myrmidon.apiserver.schema.ratcheting import by_keys, is_unchanged, key_of, map_keys

_TYPE_FIELDS = ("apiVersion", "kind")


def compile_check(source: Json) -> Check:
    """The check of values against a schema as it was written."""
    plans = {kind: _plan(source, kind) for kind in scalars.KINDS}
    null_plan = _null_plan(source)

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        parts, matches = plans[type(value)] if value is not None else null_plan
        report.matches += matches
        if not parts:
            return
        found = report.problems
        before = len(found)
        for part in parts:
            part(value, path, old, report)
        if len(found) > before and old is not UNCORRELATED and is_unchanged(value, old, source):
            del found[before:]

    return check


def _plan(source: Json, kind: type) -> tuple[tuple[Check, ...], int]:
    """The checks for values of a Python type, and how many the real server would count."""
    wrong = scalars.type_check(source, kind)
    typed = bool(scalars.types_of(source) or scalars.format_of(source))
    matches = 4 + (2 if typed else 0)
    if wrong and scalars.type_verdict(source, kind, integral=True):
        matches -= 1
    parts: list[Check | None] = [wrong, *_combinations(source)]
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
    """Null is asked for its type and the enumeration only."""
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
            checks.append(combine([compile_check(each) for each in source[name]]))
    if source.get("not") is not None:
        checks.append(_not(compile_check(source["not"])))
    return checks


def _try(check: Check, value: Any, path: str) -> Report:
    """Run an alternative on its own.  It is not forgiven what was wrong before."""
    report = Report()
    check(value, path, UNCORRELATED, report)
    return report


def _closest(failures: list[Report]) -> Report:
    return max(failures, key=lambda report: report.matches)


def _any_of(alternatives: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        failures = []
        for alternative in alternatives:
            tried = _try(alternative, value, path)
            if not tried.problems:
                report.matches += tried.matches
                return
            failures.append(tried)
        text = f"{gotext.quote(path)} must validate at least one schema (anyOf)"
        report.add(problems.combined(text))
        report.absorb(_closest(failures))

    return check


def _one_of(alternatives: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        tried = [_try(alternative, value, path) for alternative in alternatives]
        valid = [each for each in tried if not each.problems]
        if len(valid) == 1:
            report.matches += valid[0].matches
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        text = f"{gotext.quote(path)} must validate one and only one schema (oneOf). {found}"
        report.add(problems.combined(text))
        if not valid:
            report.absorb(_closest(tried))

    return check


def _all_of(parts: list[Check]) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        tried = [_try(part, value, path) for part in parts]
        for each in tried:
            report.absorb(each)
        failed = sum(bool(each.problems) for each in tried)
        if failed:
            none = ". None validated" if failed == len(parts) else ""
            text = f"{gotext.quote(path)} must validate all the schemas (allOf){none}"
            report.add(problems.combined(text))

    return check


def _not(forbidden: Check) -> Check:
    def check(value: Any, path: str, _old: Any, report: Report) -> None:
        if not _try(forbidden, value, path).problems:
            text = f"{gotext.quote(path)} must not validate the schema (not)"
            report.add(problems.combined(text))

    return check


def _list_check(source: Json) -> Check | None:
    items, keys = source.get("items"), map_keys(source)
    fewest, most = source.get("minItems"), source.get("maxItems")
    item_check = compile_check(items) if isinstance(items, dict) else None
    if item_check is None and fewest is None and most is None:
        return None

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        if item_check is not None:
            earlier = by_keys(old, keys) if keys and isinstance(old, list) else {}
            for index, item in enumerate(value):
                before = earlier.get(key_of(item, keys), UNCORRELATED) if earlier else UNCORRELATED
                item_check(item, f"{path}[{index}]", before, report)
        size = len(value)
        if fewest is not None and size < fewest:
            report.add(problems.broken(path, size, f"should have at least {fewest} items"))
        if most is not None and size > most:
            report.add(problems.too_many(path, size, most, "items"))

    return check


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
        size = len(value)
        if fewest is not None and size < fewest:
            report.add(problems.broken(path, size, f"should have at least {fewest} properties"))
        if most is not None and size > most:
            report.add(problems.too_many(path, size, most, "properties"))

    return check


def _fields_check(source: Json) -> Check:
    """Each field against its schema.  This is where the time goes, hence two loops."""
    checks = {
        name: compile_check(schema) for name, schema in (source.get("properties") or {}).items()
    }
    additional = source.get("additionalProperties")
    other = compile_check(additional) if isinstance(additional, dict) else None
    closed = additional is False

    def check(value: Any, path: str, old: Any, report: Report) -> None:
        if closed:
            _forbid_others(value, checks, path, report)
        if isinstance(old, dict):
            _check_changes(value, old, path, report, checks=checks, other=other)
            return
        prefix = f"{path}." if path else ""
        for key, item in value.items():
            if (child := checks.get(key)) is not None:
                child(item, prefix + key, UNCORRELATED, report)
            elif other is not None:
                other(item, f"{path}.{key}", UNCORRELATED, report)

    return check


def _check_changes(
    value: Json,
    old: Json,
    path: str,
    report: Report,
    *,
    checks: dict[str, Check],
    other: Check | None,
) -> None:
    prefix = f"{path}." if path else ""
    for key, item in value.items():
        # Old and new objects are converted to the same version, so these never change.
        fixed = not path and key in _TYPE_FIELDS
        before = UNCORRELATED if fixed else old.get(key, UNCORRELATED)
        if (child := checks.get(key)) is not None:
            child(item, prefix + key, before, report)
        elif other is not None:
            other(item, f"{path}.{key}", before, report)


def _forbid_others(value: Json, known: dict[str, Check], path: str, report: Report) -> None:
    for key in value:
        if key not in known:
            report.add(_forbidden(path, key))


def _forbidden(path: str, key: str) -> Problem:
    text = f"{path}.{key} in body is a forbidden property"
    return Problem(path, text, lambda field: causes.invalid(field, key, text))

"""Parse the label, field and shard selectors of a query."""

import re

from myrmidon.api.requests.selectors import Requirement, Selector, parse_selector
from myrmidon.apiserver.builtin.field_selectors import unsupported
from myrmidon.apiserver.refusals import names
from myrmidon.apiserver.refusals.failures import bad_request
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.resources.selection import EVERYTHING, FieldTerm, Selection
from myrmidon.apiserver.verbs.shard_selectors import read_shards
from myrmidon.errors import UsageError

_FIELD_TERM = re.compile(r"((?:[^=!,\\]|\\.)*+)(==|!=|=)((?:[^=!,\\]|\\.)*+)")
_EVERYWHERE = ("metadata.name", "metadata.namespace")


def read_selection(call: Call) -> Selection:
    """Return the selectors of the query; raise a 400 if one is malformed or not supported."""
    labels, fields = call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
    if not labels and not fields and "shardSelector" not in call.query:
        return EVERYTHING
    return Selection(_labels(labels), tuple(_fields(call, fields)), read_shards(call))


def _labels(text: str) -> Selector:
    if text.rstrip().endswith(","):
        raise bad_request("unable to parse requirement: found '', expected: identifier after ','")
    try:
        selector = parse_selector(text)
    except UsageError as error:
        raise bad_request(f"unable to parse requirement: {error}".splitlines()[0]) from None
    for requirement in selector:
        _check(requirement)
    return selector


def _check(requirement: Requirement) -> None:
    problems = names.qualified_problems(requirement.key)
    for value in requirement.values:
        problems += names.label_value_problems(value)
        if requirement.operator in {"<", ">"} and not re.fullmatch(r"[+-]?\d+", value):
            problems.append("for 'Gt', 'Lt' operators, the value must be an integer")
    if problems:
        raise bad_request(f"unable to parse requirement: {problems[0]}")


def _fields(call: Call, text: str) -> list[FieldTerm]:
    terms: list[FieldTerm] = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        found = _FIELD_TERM.fullmatch(part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field = found[1].rstrip()
        if not field and not found[3]:
            continue  # "=" selects everything
        if not _is_selectable(call.type, field):
            raise bad_request(_unsupported(call, field))
        value = re.sub(r"\\(.)", r"\1", found[3])
        terms.append(FieldTerm(field, found[2] != "!=", value))
    return terms


def _is_selectable(resource_type: ResourceType, field: str) -> bool:
    if field == "metadata.namespace" and resource_type.custom:
        return resource_type.kind.namespaced
    return field in _EVERYWHERE or resource_type.strategy.selectable(field)


def _unsupported(call: Call, field: str) -> str:
    if call.type.custom:
        return f"field label not supported: {field}"
    return unsupported(call.type.kind.group, call.type.kind.kind, field)

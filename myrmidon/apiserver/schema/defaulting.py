"""Fill in the defaults of a schema.

A plan is computed once per schema: the part of it that leads to defaults.  Only that part of an
object is walked.
"""

from dataclasses import dataclass
from typing import Any

from myrmidon.apiserver.schema_node import Schema

_PLAN = "defaulting"


@dataclass(slots=True, eq=False)
class _Plan:
    """The part of a schema that leads to defaults."""

    own: tuple[tuple[str, Any, bool], ...]  # field, default, nullable
    fields: dict[str, "_Plan"]
    additional: "_Plan | None"
    items: "_Plan | None"
    item_default: Any  # replaces null items of a list
    value_default: Any  # replaces null values of a map


def default(obj: Any, schema: Schema) -> None:
    """Fill in the defaults of absent fields, at every level whose parent exists, in place.

    A null counts as absent, unless the field is nullable.  After a default is filled in, the
    defaults inside it are filled in as well.
    """
    if _PLAN not in schema.plans:
        schema.plans[_PLAN] = _plan(schema)
    plan = schema.plans[_PLAN]
    if plan is not None:
        _fill(obj, plan)


def _plan(schema: Schema) -> _Plan | None:
    own = tuple(
        (name, child.default, child.nullable)
        for name, child in schema.properties.items()
        if child.has_default
    )
    plans = {name: _plan(child) for name, child in schema.properties.items()}
    fields = {name: plan for name, plan in plans.items() if plan is not None}
    additional = _plan(schema.additional) if schema.additional is not None else None
    items = _plan(schema.items) if schema.items is not None else None
    item_default, value_default = _null_default(schema.items), _null_default(schema.additional)
    leads_on = own or fields or additional or items
    if not leads_on and item_default is None and value_default is None:
        return None
    return _Plan(own, fields, additional, items, item_default, value_default)


def _null_default(schema: Schema | None) -> Any:
    return None if schema is None or schema.nullable else schema.default


def _fill(value: Any, plan: _Plan) -> None:
    if isinstance(value, dict):
        for name, filled, nullable in plan.own:
            if name not in value or (value[name] is None and not nullable):
                value[name] = copy_json(filled)
        _fill_below(value, plan)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if item is None and plan.item_default is not None:
                value[index] = copy_json(plan.item_default)
            if plan.items is not None:
                _fill(value[index], plan.items)


def _fill_below(fields: dict[str, Any], plan: _Plan) -> None:
    for name, below in plan.fields.items():
        if name in fields:
            _fill(fields[name], below)
    if plan.additional is None and plan.value_default is None:
        return
    # A schema has either properties or additionalProperties, so all keys here are those of a map.
    for name, value in fields.items():
        if value is None and plan.value_default is not None:
            fields[name] = copy_json(plan.value_default)
        if plan.additional is not None:
            _fill(fields[name], plan.additional)


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {
            key: item if type(item) in _SCALARS else copy_json(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [item if type(item) in _SCALARS else copy_json(item) for item in value]
    return value


_SCALARS = frozenset({str, int, float, bool, type(None)})  # not copied, and not worth a call

"""Annotations of a type as schema: bounds, lengths, patterns, list types, rules."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import annotated_types as at
from pydantic.fields import FieldInfo

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.markers import AtomicMap, Embedded, ListMap, ListSet, PreserveUnknown, Rule
from myrmidon.errors import DefinitionError

Refuse: TypeAlias = Callable[[str, str], DefinitionError]

_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_NUMBERS = ("integer", "number")


def flattened(metadata: Iterable[Any]) -> list[Any]:
    """Yield all annotations one by one, including those inside ``Field(...)`` and inside groups."""
    single: list[Any] = []
    for item in metadata:
        if isinstance(item, FieldInfo):
            single += flattened(item.metadata)
        elif isinstance(item, at.GroupedMetadata):
            single += flattened(item)
        else:
            single.append(item)
    return single


def put_constraints(node: Json, metadata: Sequence[Any], refuse: Refuse) -> None:
    """Write bounds, lengths and patterns into the node."""
    for item in metadata:
        match item:
            case at.MinLen() | at.MaxLen():
                _put_length(node, item, refuse)
            case at.Ge() | at.Gt() | at.Le() | at.Lt():
                _put_bound(node, item, refuse)
            case at.MultipleOf(multiple_of=factor):
                if node.get("type") not in _NUMBERS:
                    raise _misplaced("multiple_of", refuse)
                node["multipleOf"] = factor
            case _:
                _put_pattern(node, item, refuse)


def put_markers(node: Json, metadata: Sequence[Any], refuse: Refuse) -> None:
    """Write list and map types, embedded objects and rules into the node."""
    rules = [item.to_json() for item in metadata if isinstance(item, Rule)]
    if rules:
        node["x-kubernetes-validations"] = [*node.get("x-kubernetes-validations", ()), *rules]
    for item in metadata:
        match item:
            case ListMap():
                _need(node, "array", item, refuse)
                node["x-kubernetes-list-type"] = "map"
            case ListSet():
                _need(node, "array", item, refuse)
                if node["items"].get("type") not in ("string", "integer", "number", "boolean"):
                    raise refuse(
                        "is a ListSet whose elements are not scalars",
                        'use ListMap("name") for a list of models',
                    )
                node["x-kubernetes-list-type"] = "set"
            case AtomicMap():
                _need(node, "object", item, refuse)
                node["x-kubernetes-map-type"] = "atomic"
            case Embedded():
                _need(node, "object", item, refuse)
                node["x-kubernetes-embedded-resource"] = True
            case PreserveUnknown():
                _need(node, "object", item, refuse)
                node["x-kubernetes-preserve-unknown-fields"] = True
            case _:
                pass


def drop_null_choice(node: Json) -> None:
    """Null and absent are the same here, and the server takes null for no choice of an enum.

    It drops a null that it cannot keep, so that None may still be sent, to remove the field.
    """
    if "enum" in node:
        node.pop("nullable", None)


def check_correlated(items: Json, metadata: Iterable[Any], refuse: Refuse) -> None:
    """Refuse rules about changes inside a list whose elements have no key."""
    if "oldSelf" in repr(items) and not any(isinstance(each, ListMap) for each in metadata):
        raise refuse(
            "is a list whose elements have an immutable field or a rule with oldSelf, but the server "
            "cannot tell which old element belongs to which new one",
            'name the field that identifies an element: Annotated[list[...], ListMap("name")]',
        )


def put_null_choice(node: Json, refuse: Refuse) -> None:
    """Write choices that include null without ``enum``: the server never finds null in an enum."""
    if "enum" not in node or not node.get("nullable"):
        return
    if node["type"] != "string":
        raise refuse(
            "offers numbers or None, which a structural schema cannot express",
            "take None away, or make None its default and leave the field out instead",
        )
    node["pattern"] = f"^({'|'.join(map(re.escape, node.pop('enum')))})$"


def _put_length(node: Json, item: at.MinLen | at.MaxLen, refuse: Refuse) -> None:
    names = _LENGTHS.get(node.get("type", ""))
    if names is None or node.get("format"):
        raise _misplaced("min_length or max_length", refuse)
    if isinstance(item, at.MinLen):
        if item.min_length:
            node[names[0]] = item.min_length
    else:
        node[names[1]] = item.max_length


def _put_bound(node: Json, item: at.Ge | at.Gt | at.Le | at.Lt, refuse: Refuse) -> None:
    if node.get("type") not in _NUMBERS:
        raise _misplaced("ge, gt, le or lt", refuse)
    match item:
        case at.Ge(ge=bound):
            node["minimum"] = bound
        case at.Gt(gt=bound):
            node["minimum"], node["exclusiveMinimum"] = bound, True
        case at.Le(le=bound):
            node["maximum"] = bound
        case at.Lt(lt=bound):
            node["maximum"], node["exclusiveMaximum"] = bound, True


def _put_pattern(node: Json, item: Any, refuse: Refuse) -> None:
    pattern = getattr(item, "pattern", None)
    if pattern is None:
        return
    if not isinstance(pattern, str):
        raise refuse("has a compiled pattern, which the server cannot check", "give it as text")
    if node.get("type") != "string":
        raise _misplaced("pattern", refuse)
    node["pattern"] = pattern


def _need(node: Json, wanted: str, marker: object, refuse: Refuse) -> None:
    if node.get("type") != wanted:
        name, python = type(marker).__name__, "list" if wanted == "array" else "Model or dict"
        raise refuse(f"has {name}() but is not a {python}", f"take {name}() away")


def _misplaced(what: str, refuse: Refuse) -> DefinitionError:
    return refuse(
        f"has {what}, which a schema cannot say about this type",
        'take it away, or write it as a rule: Annotated[..., Rule("self > ...")]',
    )

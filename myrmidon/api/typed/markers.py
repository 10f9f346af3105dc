"""Markers for what a CustomResourceDefinition can express and a Python type cannot.

Markers on a field go into ``Annotated``; rules on a whole model or resource go to its class::

    class Spec(Model, rules=[Rule("self.low <= self.high", message="low must not pass high")]):
        low: int
        high: int
        ports: Annotated[list[Port], ListMap("name")]
        tags: Annotated[list[str], ListSet()]
        size: Annotated[int, Rule("self >= oldSelf", message="it can only grow")]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from myrmidon.errors import DefinitionError

RuleReason = Literal[
    "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"
]
ColumnType = Literal["integer", "number", "string", "boolean", "date"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that the server evaluates on every write (``x-kubernetes-validations``)."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: RuleReason | None = None
    field_path: str = ""
    optional_old_self: bool = False

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise DefinitionError(
                "a Rule has no expression.\n"
                '  fix: give it CEL that is true for a valid value, such as Rule("self.low <= self.high")'
            )
        if "\n" in self.rule.strip() and not (self.message or self.message_expression):
            raise DefinitionError(
                f"the Rule {self.rule!r} has several lines and no message; the server refuses that.\n"
                "  fix: add message='what a valid value looks like'"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the rule as an entry of ``x-kubernetes-validations``."""
        said = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True, slots=True, init=False)
class ListMap:
    """A list whose elements are identified by key fields, named as in Python or as in JSON.

    The server refuses two elements with the same key, and server-side apply merges element by
    element.
    """

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise DefinitionError(
                "ListMap() names no key.\n"
                '  fix: name the field that tells elements apart, such as ListMap("name")'
            )
        object.__setattr__(self, "keys", keys)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, elements: Any) -> Any:
        _refuse_duplicates([tuple(_at(element, key) for key in self.keys) for element in elements])
        return elements


@dataclass(frozen=True, slots=True)
class ListSet:
    """A list of scalars in which each value occurs once."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, elements: Any) -> Any:
        _refuse_duplicates(list(elements))
        return elements


@dataclass(frozen=True, slots=True)
class AtomicMap:
    """A map or model that server-side apply replaces as a whole."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A Kubernetes object inside this one; the server checks its apiVersion, kind and metadata."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, obj: Any) -> Any:
        if not isinstance(obj, Mapping):
            return obj
        for key in ("apiVersion", "kind"):
            if not isinstance(obj.get(key), str) or not obj[key]:
                raise PydanticCustomError(
                    "embedded_object", "Input should be an object with apiVersion and kind"
                )
        return obj


@dataclass(frozen=True, slots=True)
class PreserveUnknown:
    """On a model: fields that it does not list are kept by the server instead of pruned."""


@dataclass(frozen=True, slots=True, eq=False)  # equal by identity, because a dict has no hash
class OpenApi:
    """A hand-written schema for a field whose Python type does not give the right one."""

    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``.  Its type is by default that of the field at the path."""

    path: str
    type: ColumnType | None = None
    description: str = ""
    format: str = ""
    priority: int = 0  # above 0: shown with -o wide only


@dataclass(frozen=True, slots=True)
class Scale:
    """The paths of the scale subresource, which ``kubectl scale`` and autoscalers use."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


def checked_rules(owner: str, rules: Any) -> tuple[Rule, ...]:
    """Return the rules of a class statement; raise ``DefinitionError`` if they are something else."""
    if isinstance(rules, Rule | str):
        raise DefinitionError(
            f"{owner} has rules={rules!r}, which is not a list.\n  fix: write rules=[Rule(...)]"
        )
    found = tuple(rules)
    for each in found:
        if not isinstance(each, Rule):
            raise DefinitionError(
                f"{owner} has the rule {each!r}, which is not a Rule.\n"
                f'  fix: write rules=[Rule("{each}", message="...")]'
            )
    return found


def _refuse_duplicates(values: list[Any]) -> None:
    seen: list[Any] = []
    for value in values:
        # True and 1 are one key of a Python set, but two values of JSON.
        if any(type(value) is type(old) and value == old for old in seen):
            raise PydanticCustomError("duplicate", "List should hold each of its elements once")
        seen.append(value)


def _at(element: Any, key: str) -> Any:
    if isinstance(element, Mapping):
        return element.get(key)
    for name, field in type(element).model_fields.items():
        if key in (name, field.alias):
            return getattr(element, name)
    return None

"""What mutations build: ``Object{spec: Object.spec{replicas: 3}}`` and ``JSONPatch{op: "add", ...}``.

The checker of validation rules refuses all struct expressions, because no type of a rule can be built.
Here two can.  The fields of an ``Object`` may have any name and type; that a nested object has the type
of its field (``Object.spec`` in the field ``spec``) is checked when the mutation is applied.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from myrmidon.apiserver.cel.admission_types import (
    OBJECT_TYPE,
    PATCH_FIELDS,
    PATCH_TYPE,
    ObjectTypes,
)
from myrmidon.apiserver.cel.ast import Expr, StructExpr
from myrmidon.apiserver.cel.checker import Checked, Checker
from myrmidon.apiserver.cel.declarations import Overload, function
from myrmidon.apiserver.cel.errors import Issue
from myrmidon.apiserver.cel.evaluator import is_present
from myrmidon.apiserver.cel.functions import FUNCTIONS
from myrmidon.apiserver.cel.logic import Run
from myrmidon.apiserver.cel.metering import MeteredEvaluator
from myrmidon.apiserver.cel.types import DYN, Type, struct
from myrmidon.apiserver.cel.values import Value, entries

_NEW_STRUCT = 40  # the cost of an object


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


_PATCH_FUNCTIONS: dict[str, tuple[Overload, ...]] = {
    "jsonpatch.escapeKey": (
        function(
            "string_jsonpatch_escapeKey_string",
            "jsonpatch.escapeKey(string) -> string",
            _escape_key,
        ),
    )
}


class ObjectValue(dict[str, Value]):
    """An object that an expression has built, with the name of its type."""

    __slots__ = ("type_name",)

    def __init__(self, type_name: str, fields: Mapping[str, Value]) -> None:
        super().__init__(fields)
        self.type_name = type_name


class AdmissionChecker(Checker):
    """The checker of expressions of admission, which may build objects and patches."""

    def __init__(self, tree: Expr, variables: Mapping[str, Type], objects: ObjectTypes) -> None:
        super().__init__(tree, variables, objects)
        self._buildable = objects
        if PATCH_TYPE in objects:
            self.functions = {**FUNCTIONS, **_PATCH_FUNCTIONS}

    def _field_of(self, expr: Expr, target: Type, name: str) -> Type:
        if target.kind == "struct" and self._buildable.is_object(target.name):
            return DYN
        return super()._field_of(expr, target, name)

    def _struct(self, expr: StructExpr) -> Type:
        name = expr.name.removeprefix(".")
        if name not in self._buildable.buildable() and not self._buildable.is_object(name):
            return super()._struct(expr)
        for at, (field, value) in enumerate(expr.fields):
            found = self._unwrapped(value, self.check(value), optional=at in expr.optional)
            wanted = PATCH_FIELDS.get(field) if name == PATCH_TYPE else DYN
            if wanted is None or not self._assign((found,), (wanted,)):
                said = f"expected type of field '{field}' is '{wanted or ''}' but provided type is '{found}'"
                self.issues.append(Issue(expr.colons[at], said))
        return struct(name)


class AdmissionEvaluator(MeteredEvaluator):
    """Compiles expressions of admission."""

    def compile(self, expr: Expr) -> Run:
        """Return the function that evaluates an expression and counts its cost."""
        if not isinstance(expr, StructExpr):
            return super().compile(expr)
        name = expr.name.removeprefix(".")
        fields = [
            (field, self.compile(value), at in expr.optional)
            for at, (field, value) in enumerate(expr.fields)
        ]

        def build(frame: list[Value]) -> Value:
            built: dict[str, Value] = {}
            for field, value, optional in fields:
                item = value(frame)
                if not optional:
                    built[field] = item
                elif is_present(item):
                    built[field] = item.value
            return ObjectValue(name, built)

        return self.meter.metered(build, _NEW_STRUCT)


def check_admission(
    tree: Expr, variables: Mapping[str, Type], objects: ObjectTypes
) -> tuple[Checked, list[Issue]]:
    """Infer the type of every expression; return the result and the errors."""
    checker = AdmissionChecker(tree, variables, objects)
    checker.check(tree)
    return checker.checked, checker.issues


def misnamed(value: Value, path: str = OBJECT_TYPE) -> Iterator[str]:
    """Yield an error for each object whose type is not that of the field in which it is."""
    if isinstance(value, ObjectValue):
        if value.type_name != path:
            yield (
                f'unexpected type name "{value.type_name}", expected "{path}", which matches field name '
                "path from root Object type"
            )
        for field, inner in value.items():
            yield from misnamed(inner, f"{path}.{field}")
    elif isinstance(value, list):
        for item in value:
            yield from misnamed(item, path)
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from misnamed(inner, path)


def to_json(value: Value) -> Any:
    """Return a value of the language as JSON."""
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in entries(value)}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value

"""Validation of the schema of a version: the OpenAPI keywords and the extensions of Kubernetes."""

from dataclasses import dataclass, field, replace
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.definitions.costs import Cost, cardinality_inside, check_total
from myrmidon.apiserver.schema.definitions.defaults import check_defaults
from myrmidon.apiserver.schema.definitions.expressions import check_expressions, check_rule_fields
from myrmidon.apiserver.schema.definitions.lists import check_list_and_map
from myrmidon.apiserver.schema.definitions.structure import check_structure, why_not_structural
from myrmidon.apiserver.schema.pruning import META_FIELDS
from myrmidon.apiserver.schema.rules import RULES

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
# The keywords allowed at the root if there is a status subresource, as the message lists them.
_AT_ROOT = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
# Keywords that are pointers in Go: they count as set even if their value is empty.
_POINTERS = ("additionalProperties", "default", "not", "maxProperties", "minProperties")
_UNSUPPORTED = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)


@dataclass(frozen=True, slots=True)
class _Around:
    """The context of a schema node: restrictions that follow from the schemas around it."""

    defaults_forbidden: str | None = None  # the reason, None if defaults are allowed
    inside_meta: bool = False
    uncorrelatable: str = ""  # the path below which old and new values cannot be matched
    rules_compiled: bool = True
    cardinality: int | None = 1  # how many values one object can have, None if unlimited


@dataclass(slots=True)
class _Findings:
    """The errors of the schema, and those of its rules, which the real server lists last."""

    schema: list[StatusCause] = field(default_factory=list)
    rules: list[StatusCause] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def take(self, other: "_Findings") -> None:
        self.schema += other.schema
        self.rules += other.rules
        self.costs += other.costs


def check_validation(validation: Json | None, path: str, *, has_status: bool) -> list[StatusCause]:
    """Return the errors of the ``validation`` or ``schema`` of a definition."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    path = f"{path}.openAPIV3Schema"
    found = _check_root(schema, path) if has_status else []
    if schema.get("nullable"):
        found.append(causes.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    refusal = why_not_structural(schema)
    unsound: list[StatusCause] = []
    if refusal is None:
        unsound = check_structure(schema, path) or check_defaults(schema, path)
    around = _Around(rules_compiled=refusal is None and not unsound)
    findings = _check_node(schema, path, around, root=True)
    found += unsound + findings.schema + findings.rules
    if not found and refusal is not None:
        found.append(causes.invalid(path, "", refusal))
    return found + check_total(findings.costs, path)


def _check_root(schema: Json, path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    for name, value in schema.items():
        if value is None or (not value and name not in _POINTERS):
            continue
        if name == "type" and value != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status '
                "subresource is enabled"
            )
            found.append(causes.invalid(f"{path}.type", value, detail))
        if name not in _AT_ROOT:
            detail = (
                f"only [{' '.join(_AT_ROOT.values())}] fields are allowed at the root of the "
                "schema if the status subresource is enabled"
            )
            found.append(causes.invalid(path, schema, detail))
        if found:
            break
    return found


def _check_node(schema: Any, path: str, around: _Around, *, root: bool = False) -> _Findings:
    findings = _Findings()
    if not isinstance(schema, dict):
        return findings
    findings.schema += _check_words(schema, path, around)
    _check_parts(schema, path, around, findings, root=root)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        findings.schema.append(causes.invalid(where, False, "must be true or undefined"))
    findings.schema += check_list_and_map(schema, path)
    if schema.get(RULES):
        findings.schema += check_rule_fields(schema, path)
        if not findings.schema and around.rules_compiled:
            embedded = bool(schema.get("x-kubernetes-embedded-resource"))
            broken, costs = check_expressions(
                schema,
                path,
                root=root or embedded,
                uncorrelatable=around.uncorrelatable,
                cardinality=around.cardinality,
            )
            findings.rules += broken
            findings.costs += costs
    return findings


def _check_words(schema: Json, path: str, around: _Around) -> list[StatusCause]:
    """Return the errors of keywords that are not supported, or not at this place."""
    found: list[StatusCause] = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        found.append(causes.not_supported(f"{path}.type", kind, _TYPES))
    if schema.get("default") is not None and around.defaults_forbidden is not None:
        detail = f"must not be set {around.defaults_forbidden}".rstrip()
        found.append(causes.forbidden(f"{path}.default", detail))
    found += [
        causes.forbidden(f"{path}.{name}", f"{name} is not supported")
        for name in _UNSUPPORTED
        if schema.get(name) or (name in ("additionalItems", "$ref") and name in schema)
    ]
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        found.append(causes.forbidden(f"{path}.type", detail))
    if isinstance(schema.get("items"), list) and schema["items"]:
        detail = "items must be a schema object and not an array"
        found.append(causes.forbidden(f"{path}.items", detail))
    if around.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        where = f"{path}.x-kubernetes-embedded-resource"
        found.append(causes.forbidden(where, "must not be used inside of resource meta"))
    return found + _check_contents(schema, path)


def _check_contents(schema: Json, path: str) -> list[StatusCause]:
    """Return the errors of uniqueItems and additionalProperties."""
    found: list[StatusCause] = []
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(causes.forbidden(f"{path}.uniqueItems", detail))
    additional = schema.get("additionalProperties")
    if additional is not None and schema.get("properties") and additional is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        found.append(causes.forbidden(f"{path}.additionalProperties", detail))
    return found


def _check_parts(
    schema: Json, path: str, around: _Around, findings: _Findings, *, root: bool
) -> None:
    around = replace(around, cardinality=cardinality_inside(schema, around.cardinality))
    values = around
    if around.inside_meta:
        why = "inside additionalProperties applying to object metadata"
        values = replace(around, defaults_forbidden=why)
    additional = schema.get("additionalProperties")
    findings.take(_check_node(additional, f"{path}.additionalProperties", values))
    is_object = root or schema.get("x-kubernetes-embedded-resource")
    for name, child in (schema.get("properties") or {}).items():
        inside = around
        if is_object and name in META_FIELDS:
            inside = replace(around, inside_meta=True)
            if root:
                inside = replace(inside, defaults_forbidden=f"in top-level {name}")
        findings.take(_check_node(child, f"{path}.properties[{name}]", inside))
    loose = replace(around, rules_compiled=False)
    findings.take(_check_node(schema.get("not"), f"{path}.not", loose))
    for word in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(schema.get(word) or ()):
            findings.take(_check_node(child, f"{path}.{word}[{index}]", loose))
    items = around
    if schema.get("x-kubernetes-list-type") != "map" and not around.uncorrelatable:
        items = replace(around, uncorrelatable=path)
    findings.take(_check_node(schema.get("items"), f"{path}.items", items))

"""Validation of admission policies and their bindings; all their expressions are compiled."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.cel_names import KEYWORDS
from myrmidon.apiserver.builtin.validation.common import (
    choice,
    label_selector,
    one_of,
    problems,
    subdomain,
)
from myrmidon.apiserver.builtin.validation.expressions import (
    check_conditions,
    check_expression,
    compile_cause,
)
from myrmidon.apiserver.builtin.validation.extensions import check_rule
from myrmidon.apiserver.refusals.causes import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import (
    label1035_problems,
    path_segment_problems,
    qualified_problems,
    subdomain_problems,
)

if TYPE_CHECKING:
    from myrmidon.apiserver.cel.admission_program import AdmissionEnvironment

_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MUTATING = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z")
_ANNOTATIONS_MAX, _ANNOTATION_BYTES_MAX = 20, 5 * 1024


def check_validating_policy(policy: Json) -> Iterator[StatusCause]:
    """Check a ValidatingAdmissionPolicy."""
    spec = policy.get("spec") or {}
    yield from _check_common(spec)
    environment = _environment(spec)
    yield from _check_variables(spec, environment)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        needed = "validations or auditAnnotations must contain at least one item"
        yield required("spec.validations", needed)
        yield required("spec.auditAnnotations", needed)
    for index, validation in enumerate(validations):
        yield from _check_validation(f"spec.validations[{index}]", validation, environment)
    if len(annotations) > _ANNOTATIONS_MAX:
        problem = f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, problem)
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        field = f"spec.auditAnnotations[{index}]"
        name = policy["metadata"].get("name", "")
        yield from _check_annotation(field, annotation, name, environment)
        if annotation.get("key") in keys:
            yield duplicate(f"{field}.key", annotation["key"])
        keys.add(annotation.get("key", ""))


def check_mutating_policy(policy: Json) -> Iterator[StatusCause]:
    """Check a MutatingAdmissionPolicy."""
    spec = policy.get("spec") or {}
    yield from _check_common(spec)
    environment = _environment(spec)
    if environment.variables is None:
        environment.variables = {}
    yield from _check_variables(spec, environment)
    mutations = spec.get("mutations") or ()
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    patching = environment.with_parts(patches=True)
    for index, mutation in enumerate(mutations):
        yield from _check_mutation(f"spec.mutations[{index}]", mutation, patching)
    policies = ("IfNeeded", "Never")
    yield from one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), policies)


def check_mutating_operations(field: str, resources: Json | None) -> Iterator[StatusCause]:
    """Check that the rules of a mutation do not name deletes."""
    for rule in (resources or {}).get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in _MUTATING:
                yield not_supported(f"{field}.resourceRules.operations", operation, _MUTATING)


def check_validating_binding(binding: Json) -> Iterator[StatusCause]:
    """Check a ValidatingAdmissionPolicyBinding."""
    spec = binding.get("spec") or {}
    yield from _check_binding(spec)
    actions = spec.get("validationActions") or []
    field = "spec.validationActions"
    for index, action in enumerate(actions):
        yield from choice(f"{field}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield duplicate(f"{field}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        problem = (
            "must not contain both Deny and Warn (repeating the same validation failure information in "
            "the API response and headers serves no purpose)"
        )
        yield invalid(field, actions, problem)
    if not actions:
        yield required(field, "at least one validation action is required")


def check_mutating_binding(binding: Json) -> Iterator[StatusCause]:
    """Check a MutatingAdmissionPolicyBinding."""
    spec = binding.get("spec") or {}
    yield from _check_binding(spec)
    yield from check_mutating_operations("spec.matchResources", spec.get("matchResources"))


# ------------------------------------------------------------------------- parts of policies


def _environment(spec: Json) -> "AdmissionEnvironment":
    from myrmidon.apiserver.cel.admission_program import (  # noqa: PLC0415 - see expressions
        AdmissionEnvironment,
    )

    return AdmissionEnvironment("paramKind" in spec, authorizer=True)


def _check_common(spec: Json) -> Iterator[StatusCause]:
    """Check what both kinds of policies have."""
    yield from one_of("spec.failurePolicy", spec.get("failurePolicy"), ("Fail", "Ignore"))
    if "paramKind" in spec:
        yield from _check_param_kind("spec.paramKind", spec["paramKind"])
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from _check_resources("spec.matchConstraints", constraints)
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
        if "mutations" in spec:
            yield from check_mutating_operations("spec.matchConstraints", constraints)
    conditions = spec.get("matchConditions") or ()
    yield from check_conditions("spec.matchConditions", conditions, params="paramKind" in spec)


def _check_param_kind(field: str, kind: Json) -> Iterator[StatusCause]:
    version = kind.get("apiVersion") or ""
    group, _, last = version.rpartition("/")
    place = f"{field}.apiVersion"
    if not version:
        yield required(place)
    elif "/" in group:
        yield invalid(place, version, f"unexpected GroupVersion string: {version}")
    else:
        if group and (wrong := subdomain_problems(group)):
            yield invalid(place, group, ",".join(wrong))
        if not last:
            yield invalid(place, version, "version must be specified")
        elif wrong := label1035_problems(last):
            yield invalid(place, last, ",".join(wrong))
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{field}.kind")
    elif wrong := label1035_problems(name.lower()):
        said = "may have mixed case, but should otherwise match: " + ",".join(wrong)
        yield invalid(f"{field}.kind", name, said)


def _check_resources(field: str, resources: Json | None) -> Iterator[StatusCause]:
    if resources is None:
        return
    policies = ("Equivalent", "Exact")
    yield from one_of(f"{field}.matchPolicy", resources.get("matchPolicy"), policies)
    for name in ("namespaceSelector", "objectSelector"):
        yield from label_selector(f"{field}.{name}", resources.get(name) or {})
    for name in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(resources.get(name) or ()):
            place = f"{field}.{name}[{index}]"
            yield from _check_names(f"{place}.resourceNames", rule.get("resourceNames") or [])
            yield from check_rule(place, rule)


def _check_names(field: str, names: list[str]) -> Iterator[StatusCause]:
    for index, name in enumerate(names):
        yield from problems(f"{field}[{index}]", name, path_segment_problems(name))
        if name in names[:index]:
            yield duplicate(f"{field}[{index}]", name)


def _check_variables(spec: Json, environment: "AdmissionEnvironment") -> Iterator[StatusCause]:
    from myrmidon.apiserver.cel import CelCompileError  # noqa: PLC0415 - see expressions

    for index, variable in enumerate(spec.get("variables") or ()):
        field = f"spec.variables[{index}]"
        name, expression = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            yield required(f"{field}.name", "name is not specified")
        elif not _IDENTIFIER.match(name) or name in KEYWORDS:
            yield invalid(f"{field}.name", name, "must be a valid CEL identifier")
        if not expression.strip():
            yield required(f"{field}.expression", "expression is not specified")
            continue
        if environment.variables is None:
            environment.variables = {}
        try:
            environment.add_variable(name, expression)
        except CelCompileError as error:
            yield compile_cause(f"{field}.expression", expression, error)


def _check_validation(
    field: str, validation: Json, environment: "AdmissionEnvironment"
) -> Iterator[StatusCause]:
    from myrmidon.apiserver.cel.admission_program import BOOLEAN, TEXT  # noqa: PLC0415 - see expressions

    expression = validation.get("expression") or ""
    missing = "expression is not specified"
    place = f"{field}.expression"
    yield from check_expression(place, expression, BOOLEAN, environment, missing=missing)
    said = validation.get("messageExpression") or ""
    place = f"{field}.messageExpression"
    if said and not said.strip():
        yield invalid(place, said, "must be non-empty if specified")
    elif said:
        without = environment.with_parts(authorizer=False)
        yield from check_expression(place, said, TEXT, without)
    text = validation.get("message") or ""
    if text and not text.strip():
        yield invalid(f"{field}.message", text, "must be non-empty if specified")
    elif re.search(r"[\n\r]", text.strip()):
        yield invalid(f"{field}.message", text, "must not contain line breaks")
    yield from choice(f"{field}.reason", validation.get("reason"), _REASONS)


def _check_annotation(
    field: str, annotation: Json, policy: str, environment: "AdmissionEnvironment"
) -> Iterator[StatusCause]:
    from myrmidon.apiserver.cel.admission_program import TEXT_OR_NULL  # noqa: PLC0415 - see expressions

    key = annotation.get("key") or ""
    if policy:
        full = f"{policy}/{key}"
        yield from problems(f"{field}.key", full, qualified_problems(full))
    else:
        yield invalid(f"{field}.key", key, "requires metadata.name be non-empty")
    expression = (annotation.get("valueExpression") or "").strip()
    place = f"{field}.valueExpression"
    if len(expression.encode()) > _ANNOTATION_BYTES_MAX:
        yield required(place, f"must not exceed {_ANNOTATION_BYTES_MAX} bytes in length")
        return
    missing = "valueExpression is not specified"
    yield from check_expression(place, expression, TEXT_OR_NULL, environment, missing=missing)


def _check_mutation(
    field: str, mutation: Json, environment: "AdmissionEnvironment"
) -> Iterator[StatusCause]:
    from myrmidon.apiserver.cel.admission_program import OBJECT, PATCHES  # noqa: PLC0415 - see expressions

    patch_type = mutation.get("patchType") or ""
    if patch_type not in _PATCH_TYPES:
        yield from one_of(f"{field}.patchType", patch_type, _PATCH_TYPES)
        return
    is_patch = patch_type == "JSONPatch"
    own, other = ("jsonPatch", "applyConfiguration")[:: 1 if is_patch else -1]
    if mutation.get(own) is None:
        yield required(f"{field}.{own}", f"must be specified when patchType is {patch_type}")
    else:
        expression = (mutation[own].get("expression") or "").strip()
        wanted = PATCHES if is_patch else OBJECT
        yield from check_expression(f"{field}.{own}.expression", expression, wanted, environment)
    if mutation.get(other) is not None:
        problem = f"must not be specified when patchType is {patch_type}"
        yield invalid(f"{field}.{other}", f"{{{other}}}", problem)


# ------------------------------------------------------------------------- bindings


def _check_binding(spec: Json) -> Iterator[StatusCause]:
    name = spec.get("policyName") or ""
    if name:
        yield from subdomain("spec.policyName", name)
    else:
        yield required("spec.policyName")
    yield from _check_param_ref("spec.paramRef", spec.get("paramRef"))
    yield from _check_resources("spec.matchResources", spec.get("matchResources"))


def _check_param_ref(field: str, ref: Json | None) -> Iterator[StatusCause]:
    if ref is None:
        return
    name, wanted = ref.get("name") or "", ref.get("selector")
    if name:
        yield from problems(f"{field}.name", name, path_segment_problems(name))
        if wanted is not None:
            yield forbidden(f"{field}.name", "name and selector are mutually exclusive")
    if wanted is not None:
        yield from label_selector(f"{field}.selector", wanted)
        if name:
            yield forbidden(f"{field}.selector", "name and selector are mutually exclusive")
    if not name and wanted is None:
        yield required(field, "one of name or selector must be specified")
    actions = ("Deny", "Allow")
    yield from one_of(
        f"{field}.parameterNotFoundAction", ref.get("parameterNotFoundAction"), actions
    )

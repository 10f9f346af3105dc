"""MutatingAdmissionPolicies: changes of an object that are written in CEL, without a webhook.

A mutation is either an apply configuration, which is merged into the object as server-side apply would
merge it (but its fields get no owner), or a JSON patch.  Mutations are applied in order, each
to the object as the one before left it.  With ``reinvocationPolicy: IfNeeded`` a policy is evaluated
again after later policies or webhooks have changed the object (``reinvocation``).

All errors are collected; the first is the message of the refusal, all are its causes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.admission.policy_hooks import PolicyHook, policy_hooks
from myrmidon.apiserver.admission.reinvocation import reinvocations
from myrmidon.apiserver.admission.views import redecoded, seen, unseen
from myrmidon.apiserver.fields.checking import check
from myrmidon.apiserver.fields.listing import ShapeError
from myrmidon.apiserver.fields.merging import merge
from myrmidon.apiserver.fields.shapes import Shape, shape_of
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, internal_error
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.resources.strategy import DecodeError
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch

if TYPE_CHECKING:
    from myrmidon.apiserver.admission.policy_programs import PolicyProgram

_STEP = "MutatingAdmissionPolicy"
_TEST_FAILED = "test failed"


class MutationError(ValueError):
    """A mutation cannot be applied; the text is the real server's."""


class MutatingPolicies:
    """The admission step of the MutatingAdmissionPolicies in the store."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Apply the mutations of all matching policies."""
        hooks = list(policy_hooks(admission, "mutating"))
        if not hooks or admission.obj is None:
            return None
        calls = reinvocations(admission, _STEP)
        before = admission.obj
        problems: list[tuple[PolicyHook, str, str]] = []
        for hook in hooks:
            if hook.problem:
                problems.append((hook, hook.problem, ""))
                continue
            key = _key(hook)
            if admission.again and not calls.is_due(key):
                continue
            previous = admission.obj
            problems += [(hook, said, "Invalid") for said in _mutate(admission, hook)]
            if not identical(previous, admission.obj):
                calls.changed(admission)
            if hook.policy["spec"].get("reinvocationPolicy") == "IfNeeded":
                calls.called(key)
        calls.ended(admission)
        fatal = [each for each in problems if each[0].failure_policy != "Ignore"]
        if fatal:
            raise _denial(admission, fatal)
        return None if admission.obj is before else admission.obj

    def check(self, admission: PendingWrite) -> None:
        """Do nothing."""


def _key(hook: PolicyHook) -> tuple[str, str, str, str]:
    assert hook.binding is not None, "only a binding is evaluated"
    params = (hook.params or {}).get("metadata") or {}
    return (
        hook.policy["metadata"]["name"],
        hook.binding["metadata"]["name"],
        params.get("namespace", ""),
        params.get("name", ""),
    )


def _denial(admission: PendingWrite, problems: list[tuple[PolicyHook, str, str]]) -> Failure:
    texts = [_said(hook, problem) for hook, problem, _ in problems]
    failure = admission.forbidden("", [StatusCause("", "", text) for text in texts])
    failure.message = texts[0]
    failure.reason = problems[0][2] or failure.reason
    return failure


def _said(hook: PolicyHook, problem: str) -> str:
    name = hook.policy["metadata"]["name"]
    if hook.binding is None:
        return f'policy "{name}" denied request: {problem}'
    binding = hook.binding["metadata"]["name"]
    return f"policy '{name}' with binding '{binding}' denied request: {problem}"


def _mutate(admission: PendingWrite, hook: PolicyHook) -> Iterator[str]:
    """Apply the mutations of one policy; yield the errors of those that cannot be applied."""
    from myrmidon.apiserver.admission.policy_programs import (  # noqa: PLC0415 - see validating_policies
        MatchConditionError,
        PolicyError,
        PolicyEvaluation,
        programs_of,
    )

    programs = programs_of(hook.policy)
    try:
        if not PolicyEvaluation(admission, hook, programs).conditions_hold():
            return
    except MatchConditionError as error:
        yield str(error)
        return
    mutations = hook.policy["spec"].get("mutations") or ()
    for mutation, program in zip(mutations, programs.mutations, strict=True):
        evaluation = PolicyEvaluation(admission, hook, programs)  # of the object as it is now
        try:
            value = evaluation.evaluate(program)
            _apply(admission, hook, mutation["patchType"], value)
        except (MutationError, PolicyError) as error:
            yield _unprefixed(str(error), program)


def _unprefixed(text: str, program: "PolicyProgram") -> str:
    """Return an error; one of compilation is told without a prefix."""
    compiled = program.compiled
    return str(compiled) if isinstance(compiled, Exception) else text


def _apply(admission: PendingWrite, hook: PolicyHook, patch_type: str, value: Any) -> None:
    shown = seen(admission, admission.obj, hook.seen_as)
    assert shown is not None, "only objects are mutated"
    changed = _patched(shown, value) if patch_type == "JSONPatch" else _merged(shown, value, hook)
    try:
        admission.obj = redecoded(admission, unseen(admission, changed, hook.seen_as))
    except DecodeError as error:
        raise internal_error(str(error)) from None


def _patched(obj: Json, value: Any) -> Json:
    from myrmidon.apiserver.cel.patch_values import (  # noqa: PLC0415 - see validating_policies
        ObjectValue,
        misnamed,
        to_json,
    )

    operations = []
    for patch in value:
        inner = patch.get("value")
        if isinstance(inner, ObjectValue):
            _refuse(list(misnamed(inner, inner.type_name)))
        operations.append({name: to_json(part) for name, part in patch.items()})
    try:
        patched: Json = apply_json_patch(obj, operations)
    except JsonPatchError as error:
        if _TEST_FAILED in str(error):
            return obj  # a test that fails prevents the patch, not the write
        raise MutationError(f"JSON Patch: {error}") from None
    return patched


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise MutationError("type mismatch: " + "\n".join(wrong))


def _merged(obj: Json, value: Any, hook: PolicyHook) -> Json:
    from myrmidon.apiserver.cel.patch_values import (  # noqa: PLC0415 - see validating_policies
        misnamed,
        to_json,
    )

    _refuse(list(misnamed(value)))
    configuration = to_json(value) | {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    shape = shape_of(hook.seen_as.schema)
    try:
        check(configuration, shape)
    except ShapeError as error:
        problem = f"failed to convert patch object to typed object: {error}"
        raise MutationError(f"error applying patch: {problem}") from None
    atomic = ", ".join(_atomics(configuration, shape, ""))
    if atomic:
        problem = f"may not mutate atomic arrays, maps or structs: {atomic}"
        raise MutationError(f"error applying patch: invalid ApplyConfiguration: {problem}")
    try:
        merged: Json = merge(obj, configuration, shape)
    except ShapeError as error:
        raise MutationError(f"error applying patch: failed to merge patch: {error}") from None
    return merged


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Yield the paths of the atomic maps and lists in a configuration."""
    if isinstance(value, dict):
        if shape.atomic_map:
            yield path
        for name, inner in value.items():
            child = shape.fields.get(name)
            if child is not None:
                yield from _atomics(inner, child, f"{path}.{name}")
    elif isinstance(value, list):
        if not shape.associative:
            yield path
        for index, inner in enumerate(value):
            yield from _atomics(inner, shape.item, f"{path}[{index}]")

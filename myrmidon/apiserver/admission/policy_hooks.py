"""Which policies look at a write: policies, their bindings, and the parameters of a binding.

A policy does nothing without a binding.  For each policy that matches the write, and each of its
bindings that matches as well, the policy is evaluated once for every parameter that the binding names:
an object of the policy's ``paramKind``, found by name or by labels.  A policy without a ``paramKind``
is evaluated once, with ``params`` null.  The real server evaluates policies in no particular order;
here they are evaluated in the order of their names.

Errors of configuration (an unknown ``paramKind``, no parameter where one is required) count as
refusals if the failure policy is ``Fail``.
"""

from collections.abc import Iterator
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.admission.matching import GROUP, is_exempt, policy_match, selector
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.registry import ResourceType


class PolicyHook(NamedTuple):
    """A policy and a binding that match the write, with one parameter; or an error of configuration.

    ``binding`` is None for an error that concerns the policy itself.
    """

    policy: Json
    binding: Json | None
    seen_as: ResourceType
    params: Json | None = None
    problem: str = ""

    @property
    def failure_policy(self) -> str:
        """What happens if the policy cannot be evaluated: ``Fail`` or ``Ignore``."""
        return str(self.policy["spec"].get("failurePolicy") or "Fail")


class ParamsError(ValueError):
    """The parameters of a binding cannot be found."""


def policy_hooks(admission: PendingWrite, kind: str) -> Iterator[PolicyHook]:
    """Yield what matches the write: policies of ``kind`` (``validating`` or ``mutating``)."""
    store = admission.call.core.store
    bindings = store.scan(f"{kind}admissionpolicybindings.{GROUP}")
    if not bindings or is_exempt(admission):
        return
    by_policy: dict[str, list[Json]] = {}
    for record in bindings:
        by_policy.setdefault(record.value["spec"]["policyName"], []).append(record.value)
    for name in sorted(by_policy):
        found = store.get(f"{kind}admissionpolicies.{GROUP}", name)
        if found is not None:
            yield from _hooks(admission, found.value, by_policy[name])


def _hooks(admission: PendingWrite, policy: Json, bindings: list[Json]) -> Iterator[PolicyHook]:
    seen_as = policy_match(admission, policy["spec"].get("matchConstraints") or {})
    if seen_as is None:
        return
    wanted = policy["spec"].get("paramKind")
    param_type = None if wanted is None else _param_type(admission, wanted)
    if wanted is not None and param_type is None:
        said = f"{wanted['apiVersion']}, Kind={wanted['kind']}"
        if "/" not in wanted["apiVersion"]:
            said = f"/{said}"
        problem = f"failed to find resource referenced by paramKind: '{said}'"
        problem = f"failed to configure policy: {problem}"
        yield PolicyHook(policy, None, seen_as, problem=problem)
        return
    for binding in bindings:
        resources = binding["spec"].get("matchResources")
        if resources is not None and policy_match(admission, resources) is None:
            continue
        try:
            params = _params(admission, param_type, binding["spec"].get("paramRef"))
        except ParamsError as error:
            problem = f"failed to configure binding: {error}"
            yield PolicyHook(policy, binding, seen_as, problem=problem)
            continue
        for each in params:
            yield PolicyHook(policy, binding, seen_as, each)


def _param_type(admission: PendingWrite, wanted: Json) -> ResourceType | None:
    group, version = split_api_version(wanted["apiVersion"])
    return admission.call.core.registry.find_kind(group, version, wanted["kind"])


def _params(
    admission: PendingWrite, param_type: ResourceType | None, ref: Json | None
) -> list[Json | None]:
    """Return the parameters of a binding; ``[None]`` if it has none; raise ``ParamsError``."""
    if param_type is None or ref is None:
        return [None]
    namespace = ref.get("namespace") or ""
    if not param_type.kind.namespaced and namespace:
        raise ParamsError(
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
        )
    if param_type.kind.namespaced:
        namespace = namespace or admission.namespace
        if not namespace:
            raise ParamsError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    store = admission.call.core.store
    if ref.get("name"):
        one = store.get(param_type.stored_as, param_type.key(namespace, ref["name"]))
        records = [] if one is None else [one]
    else:
        wanted = selector(ref.get("selector"))
        prefix = param_type.prefix(namespace)
        found = store.scan(param_type.stored_as, prefix)
        records = [each for each in found if wanted.matches(labels_of(each.value))]
    if not records and ref.get("parameterNotFoundAction") == "Deny":
        raise ParamsError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [representation.shown(param_type, record) for record in records]

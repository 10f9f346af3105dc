"""Validation of disruption budgets, priority classes, Namespaces and Nodes."""

import re
from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import (
    at_most_all,
    choice,
    int_or_percent,
    label,
    label_selector,
    network,
    non_negative,
    one_of,
    problems,
    qualified,
    unchanged,
)
from myrmidon.apiserver.golang.text import Struct
from myrmidon.apiserver.refusals.causes import duplicate, forbidden, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import label_value_problems

_HIGHEST_USER_PRIORITY = 1_000_000_000
_LEVELS = ("privileged", "baseline", "restricted")
_SECURITY_LEVELS = {f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn")}
_SECURITY_VERSIONS = {f"{label}-version" for label in _SECURITY_LEVELS}
_SECURITY_VERSION = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_disruption_budget(budget: Json) -> Iterator[StatusCause]:
    """Check a PodDisruptionBudget."""
    spec = budget["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        yield from int_or_percent(f"spec.{name}", spec.get(name))
        yield from at_most_all(f"spec.{name}", spec.get(name))
    yield from label_selector("spec.selector", spec.get("selector", {}))
    if "unhealthyPodEvictionPolicy" in spec:
        yield from choice(
            "spec.unhealthyPodEvictionPolicy",
            spec["unhealthyPodEvictionPolicy"],
            ("AlwaysAllow", "IfHealthyBudget"),
        )


def check_priority_class(priority: Json) -> Iterator[StatusCause]:
    """Check a PriorityClass."""
    name, value = priority["metadata"].get("name", ""), priority.get("value", 0)
    if name.startswith("system-"):
        if name not in ("system-cluster-critical", "system-node-critical"):
            yield forbidden(
                "metadata.name",
                "priority class names with 'system-' prefix are reserved for system use only. "
                "error: system- prefix is reserved",
            )
    elif value > _HIGHEST_USER_PRIORITY:
        yield forbidden(
            "value",
            f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}",
        )
    policies = ("Never", "PreemptLowerPriority")
    yield from choice("preemptionPolicy", priority.get("preemptionPolicy"), policies)


def check_priority_class_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the value of a PriorityClass does not change."""
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    yield from unchanged(
        "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy")
    )


def check_namespace(namespace: Json) -> Iterator[StatusCause]:
    """Check a Namespace."""
    for name, value in sorted(labels_of(namespace).items()):
        field = f"metadata.labels[{name}]"
        if name in _SECURITY_LEVELS and value not in _LEVELS:
            yield invalid(field, value, f"must be one of {', '.join(_LEVELS)}")
        if name in _SECURITY_VERSIONS and not _SECURITY_VERSION.fullmatch(value):
            yield invalid(field, value, 'must be "latest" or "v1.x"')
    for finalizer in namespace["spec"].get("finalizers", ()):
        yield from qualified("spec.finalizers", finalizer)
        if "/" not in finalizer and finalizer not in ("kubernetes", "orphan"):
            yield invalid(
                "spec.finalizers",
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            )


def check_namespace_status(namespace: Json) -> Iterator[StatusCause]:
    """Check that the phase of a Namespace fits its deletionTimestamp."""
    deleting = bool(namespace["metadata"].get("deletionTimestamp"))
    phase, wanted = namespace["status"].get("phase"), "Terminating" if deleting else "Active"
    if phase != wanted:
        how = "not empty" if deleting else "empty"
        yield invalid(
            "status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {how}"
        )


def check_disruption_budget_status(budget: Json) -> Iterator[StatusCause]:
    """Check the counts in the status of a PodDisruptionBudget."""
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        yield from non_negative(f"status.{name}", budget["status"].get(name))


def check_runtime_class(runtime: Json) -> Iterator[StatusCause]:
    """Check a RuntimeClass."""
    handler = runtime.get("handler", "")
    if not handler:
        yield required("handler")
    else:
        yield from label("handler", handler)


def check_node(node: Json) -> Iterator[StatusCause]:
    """Check a Node."""
    for index, cidr in enumerate(node["spec"].get("podCIDRs", ())):
        yield from network(f"spec.podCIDRs[{index}]", cidr)
    for part in ("capacity", "allocatable"):
        for name, amount in node.get("status", {}).get(part, {}).items():
            if parse_quantity(amount).amount < 0:
                field = f"status.{part}.{name}"
                yield invalid(field, amount, "must be greater than or equal to 0")
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(node["spec"].get("taints", ())):
        field = f"metadata.taints[{index}]"  # so the real server says
        key, effect = taint.get("key", ""), taint.get("effect", "")
        yield from qualified(f"{field}.key", key)
        yield from problems(
            f"{field}.value", taint.get("value", ""), label_value_problems(taint.get("value", ""))
        )
        yield from one_of(f"{field}.effect", taint.get("effect"), _EFFECTS)
        if (key, effect) in seen:
            names = {"Key": "key", "Value": "value", "Effect": "effect", "TimeAdded": "timeAdded"}
            shown = Struct((name, taint.get(names[name], "")) for name in names)
            shown["TimeAdded"] = taint.get("timeAdded")
            yield duplicate(field, shown, "taints must be unique by key and effect pair")
        seen.add((key, effect))

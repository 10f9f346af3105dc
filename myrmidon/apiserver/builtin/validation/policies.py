"""Validation of disruption budgets, priority classes, Namespaces and Nodes."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
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
    qualified,
    unchanged,
)
from myrmidon.apiserver.causes import forbidden, invalid, required
from myrmidon.apiserver.failures import StatusCause

_HIGHEST_USER_PRIORITY = 1_000_000_000
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
    for index, taint in enumerate(node["spec"].get("taints", ())):
        field = f"spec.taints[{index}]"
        yield from qualified(f"{field}.key", taint.get("key", ""))
        yield from one_of(f"{field}.effect", taint.get("effect"), _EFFECTS)

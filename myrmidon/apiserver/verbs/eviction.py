"""Eviction of a pod: a delete that respects the PodDisruptionBudget of the pod.

The budget's status says how many pods may be disrupted now; the disruption controller
(``actors.disruptions``) computes it.  An eviction takes one of them at once and notes the pod in
``status.disruptedPods``, so that two evictions in a row cannot both take the last one.  Pods that do
not run (or not any more) are deleted without asking the budget.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json, generation_of, labels_of, name_of, namespace_of
from myrmidon.apiserver.builtin.validation.common import selects
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, internal
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.conditions import is_true
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.create import write_status
from myrmidon.apiserver.verbs.delete import DeleteOptions, delete_record

_BUDGETS = "poddisruptionbudgets.policy"
_RETRY_SECONDS = 10
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def evict(call: Call, options: dict[str, Any]) -> None:
    """Delete the pod of the path; raise a 429 if its disruption budget does not allow that now."""
    record = call.stored()
    pod = representation.shown(call.type, record)
    budgets = [] if _is_undisturbed(pod) else _budgets(call, pod)
    if len(budgets) > 1:
        raise internal(_SEVERAL)
    taken = _taken(budgets[0], pod, call.timestamp) if budgets else None
    wanted = options.get("preconditions") or {}
    how = DeleteOptions(
        grace_seconds=options.get("gracePeriodSeconds"),
        uid=wanted.get("uid"),
        version=wanted.get("resourceVersion"),
    )
    if taken is not None and not call.dry_run:
        found = call.core.registry.find("policy", "v1", "poddisruptionbudgets")
        write_status(call, found, budgets[0], taken)
    delete_record(call, record, how, admit=False)  # the eviction was admitted


def _is_undisturbed(pod: Json) -> bool:
    """Whether a pod can go without a disruption: it has not started, has ended or is going already."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


def _budgets(call: Call, pod: Json) -> list[Record]:
    return [
        record
        for record in call.core.store.scan(_BUDGETS, f"{namespace_of(pod)}/")
        if selects(record.value["spec"].get("selector"), labels_of(pod))
    ]


def _taken(record: Record, pod: Json, now: str) -> Json | None:
    """Return the status of a budget without one of its disruptions; None if the pod needs none."""
    budget = record.value
    status = budget.get("status") or {}
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not is_true(pod.get("status") or {}, "Ready"):
        always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or healthy >= desired > 0:
            return None
    if status.get("observedGeneration", 0) < generation_of(budget):
        text = f"The disruption budget {name_of(budget)} is still being processed by the server."
        raise _too_many(text, _RETRY_SECONDS)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        if healthy <= desired:
            text = f"needs {desired} healthy pods and has {healthy} currently"
        else:
            text = "does not allow evicting pods currently"
        raise _too_many(f"The disruption budget {name_of(budget)} {text}")
    noted = {**(status.get("disruptedPods") or {}), name_of(pod): now}
    return {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": noted}


def _too_many(cause: str, retry_after: int | None = None) -> Failure:
    return Failure(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        causes=[StatusCause("", "DisruptionBudget", cause)],
        retry_after=retry_after,
    )

"""Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and ControllerRevisions."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.builtin.validation.common import (
    at_most_all,
    int_or_percent,
    is_empty_selector,
    label,
    label_selector,
    non_negative,
    percent_of,
    selects,
    unchanged,
)
from myrmidon.apiserver.builtin.validation.pods import check_template
from myrmidon.apiserver.builtin.validation.storage import check_claim_spec
from myrmidon.apiserver.golang.text import Struct
from myrmidon.apiserver.refusals.causes import (
    IMMUTABLE,
    forbidden,
    invalid,
    not_supported,
    required,
)
from myrmidon.apiserver.refusals.failures import StatusCause

_MISMATCH = "`selector` does not match template `labels`"


def check_deployment(deployment: Json) -> Iterator[StatusCause]:
    """Check a Deployment."""
    spec = deployment["spec"]
    yield from non_negative("spec.replicas", spec.get("replicas"))
    yield from _check_selector(spec, "deployment")
    yield from _check_set_template(spec, "ReplicaSet")
    yield from _check_strategy(spec["strategy"])
    yield from _check_counts(spec, "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    yield from non_negative("spec.progressDeadlineSeconds", deadline)
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid(
            "spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"
        )


def check_replica_set(replica_set: Json) -> Iterator[StatusCause]:
    """Check a ReplicaSet."""
    spec = replica_set["spec"]
    yield from _check_counts(spec, "replicas", "minReadySeconds")
    yield from _check_selector(spec, "deployment")
    yield from _check_set_template(spec, "ReplicaSet")


def check_replication_controller(controller: Json) -> Iterator[StatusCause]:
    """Check a ReplicationController."""
    spec = controller["spec"]
    yield from _check_counts(spec, "minReadySeconds", "replicas")
    if not spec.get("selector"):
        yield required("spec.selector")
    template = spec.get("template")
    if template is None:
        yield required("spec.template")
        return
    template_labels = template["metadata"].get("labels", {})
    if not selects({"matchLabels": spec.get("selector", {})}, template_labels):
        yield invalid("spec.template.metadata.labels", template_labels or None, _MISMATCH)
    yield from check_template("spec.template", template)
    yield from _check_restarts(template, "ReplicationController")


def check_stateful_set(stateful_set: Json) -> Iterator[StatusCause]:
    """Check a StatefulSet."""
    spec = stateful_set["spec"]
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _check_stateful_strategy(spec["updateStrategy"])
    yield from _check_retention(spec.get("persistentVolumeClaimRetentionPolicy", {}))
    yield from _check_counts(spec, "replicas", "minReadySeconds")
    start = spec.get("ordinals", {}).get("start")
    yield from non_negative("spec.ordinals.start", start)
    yield from _check_selector(spec, "statefulset")
    yield from _check_set_template(spec, "StatefulSet", claims=spec.get("volumeClaimTemplates", []))


def _check_stateful_strategy(strategy: Json) -> Iterator[StatusCause]:
    field = "spec.updateStrategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                yield invalid(
                    f"{field}.rollingUpdate",
                    rolling,
                    "only allowed for updateStrategy 'RollingUpdate'",
                )
        case "RollingUpdate":
            if rolling is not None:
                yield from non_negative(
                    f"{field}.rollingUpdate.partition", rolling.get("partition")
                )
        case _:
            yield invalid(field, strategy, "must be 'RollingUpdate' or 'OnDelete'")


def _check_retention(policy: Json) -> Iterator[StatusCause]:
    for name in ("whenDeleted", "whenScaled"):
        if policy.get(name) not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield not_supported(field, policy.get(name), ("Delete", "Retain"))


def check_stateful_set_creation(stateful_set: Json) -> Iterator[StatusCause]:
    """Check the immutable fields of a StatefulSet, which is necessary only on creation."""
    spec = stateful_set["spec"]
    if spec.get("serviceName"):
        yield from label("spec.serviceName", spec["serviceName"])
    for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
        yield from check_claim_spec(f"spec.volumeClaimTemplates[{index}].spec", claim["spec"])


_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check_stateful_set_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check an update of a StatefulSet, of which most fields are immutable."""
    fixed = [
        {key: value for key, value in obj["spec"].items() if key not in _STATEFUL_MUTABLE}
        for obj in (new, old)
    ]
    if fixed[0] != fixed[1]:
        *most, last = (f"'{name}'" for name in _STATEFUL_MUTABLE)
        yield forbidden(
            "spec",
            f"updates to statefulset spec for fields other than {', '.join(most)} and {last} "
            "are forbidden",
        )


def check_daemon_set(daemon_set: Json) -> Iterator[StatusCause]:
    """Check a DaemonSet."""
    spec = daemon_set["spec"]
    template = spec["template"]
    selector = spec.get("selector")
    wrong = list(label_selector("spec.selector", selector or {}))
    yield from wrong
    template_labels = template["metadata"].get("labels")
    if not wrong and not selects(selector, template_labels or {}):
        yield invalid("spec.template.metadata.labels", template_labels, _MISMATCH)
    if selector is not None and is_empty_selector(selector):
        yield invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    yield from check_template("spec.template", template)
    yield from _check_restarts(template, "DaemonSet")
    yield from _check_counts(spec, "minReadySeconds", "revisionHistoryLimit")
    yield from _check_daemon_strategy(spec["updateStrategy"])


def _check_daemon_strategy(strategy: Json) -> Iterator[StatusCause]:
    field = "spec.updateStrategy"
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            rolling = strategy.get("rollingUpdate", {})
            unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
            for name in ("maxUnavailable", "maxSurge"):
                yield from int_or_percent(f"{field}.rollingUpdate.{name}", rolling.get(name))
                yield from at_most_all(f"{field}.rollingUpdate.{name}", rolling.get(name))
            if percent_of(unavailable) and percent_of(surge):
                yield invalid(
                    f"{field}.rollingUpdate.maxSurge",
                    surge,
                    "may not be set when maxUnavailable is non-zero",
                )
            elif not percent_of(unavailable) and not percent_of(surge):
                yield required(
                    f"{field}.rollingUpdate.maxUnavailable", "cannot be 0 when maxSurge is 0"
                )
        case _:
            yield not_supported(field, strategy, ("RollingUpdate", "OnDelete"))


def check_selector_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the selector does not change."""
    yield from unchanged("spec.selector", _selector(new), _selector(old))


def _selector(workload: Json) -> Struct | None:
    selector = workload["spec"].get("selector")
    if selector is None:
        return None
    fields = ("matchLabels", "matchExpressions")  # in the order of declaration, as Go prints them
    return Struct({field: selector[field] for field in fields if field in selector})


def check_revision(revision: Json) -> Iterator[StatusCause]:
    """Check a ControllerRevision."""
    content = revision.get("data")
    if content is None:
        yield required("data", "data is mandatory")
    elif not isinstance(content, dict):
        yield required("data", "data must be a valid JSON object")
    yield from non_negative("revision", revision.get("revision"))


def check_revision_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the data of a ControllerRevision does not change."""
    if not identical(new.get("data"), old.get("data")):
        yield invalid("data", new.get("data"), IMMUTABLE)


def check_deployment_status(deployment: Json) -> Iterator[StatusCause]:
    """Check the counts in the status of a Deployment."""
    yield from _check_status(
        deployment["status"],
        ("updatedReplicas", "readyReplicas", "availableReplicas"),
        others=("unavailableReplicas", "terminatingReplicas", "collisionCount"),
        than_ready="cannot be greater than readyReplicas",
    )


def check_replica_set_status(replica_set: Json) -> Iterator[StatusCause]:
    """Check the counts in the status of a ReplicaSet."""
    yield from _check_status(
        replica_set["status"],
        ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        others=("terminatingReplicas",),
        than_ready="cannot be greater than readyReplicas",
    )


def check_stateful_set_status(stateful_set: Json) -> Iterator[StatusCause]:
    """Check the counts in the status of a StatefulSet."""
    yield from _check_status(
        stateful_set["status"],
        ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        others=("collisionCount",),
        than_ready="cannot be greater than status.readyReplicas",
    )


def check_daemon_set_status(daemon_set: Json) -> Iterator[StatusCause]:
    """Check the counts in the status of a DaemonSet."""
    for name, value in daemon_set["status"].items():
        if isinstance(value, int):
            yield from non_negative(f"status.{name}", value)


def _check_status(
    status: Json, parts: tuple[str, ...], *, others: tuple[str, ...], than_ready: str
) -> Iterator[StatusCause]:
    for name in ("observedGeneration", "replicas", *parts, *others):
        yield from non_negative(f"status.{name}", status.get(name))
    for name in parts:
        if status.get(name, 0) > status.get("replicas", 0):
            yield invalid(
                f"status.{name}", status.get(name, 0), "cannot be greater than status.replicas"
            )
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        yield invalid("status.availableReplicas", available, than_ready)


def _check_counts(spec: Json, *names: str) -> Iterator[StatusCause]:
    for name in names:
        yield from non_negative(f"spec.{name}", spec.get(name))


def _check_selector(spec: Json, kind: str) -> Iterator[StatusCause]:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    wrong = list(label_selector("spec.selector", selector))
    yield from wrong
    if is_empty_selector(selector):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    if wrong:
        detail = "" if kind == "statefulset" else "invalid label selector"
        yield invalid("spec.selector", selector, detail)


def _check_set_template(
    spec: Json, kind: str, claims: list[Json] | None = None
) -> Iterator[StatusCause]:
    template, selector = spec["template"], spec.get("selector")
    if selector is not None and any(label_selector("spec.selector", selector)):
        return  # an invalid selector cannot be matched with the template
    template_labels = template["metadata"].get("labels")
    is_empty = selector is not None and is_empty_selector(selector)
    if not is_empty and not selects(selector, template_labels or {}):
        yield invalid("spec.template.metadata.labels", template_labels, _MISMATCH)
    yield from check_template("spec.template", _with_claims(template, claims or []))
    yield from _check_restarts(template, kind)


def _with_claims(template: Json, claims: list[Json]) -> Json:
    """Return the template with the volumes that the StatefulSet's claim templates add."""
    if not claims:
        return template
    names = [claim["metadata"].get("name", "") for claim in claims]
    claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    own = [each for each in template["spec"].get("volumes", ()) if each.get("name") not in names]
    return template | {"spec": template["spec"] | {"volumes": [*claimed, *own]}}


def _check_restarts(template: Json, kind: str) -> Iterator[StatusCause]:
    spec = template["spec"]
    if spec.get("restartPolicy") != "Always":
        yield not_supported(
            "spec.template.spec.restartPolicy", spec.get("restartPolicy"), ("Always",)
        )
    if "activeDeadlineSeconds" in spec:
        yield forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def _check_strategy(strategy: Json) -> Iterator[StatusCause]:
    field = "spec.strategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                yield forbidden(
                    f"{field}.rollingUpdate",
                    "may not be specified when strategy `type` is 'Recreate'",
                )
        case "RollingUpdate":
            unavailable = (rolling or {}).get("maxUnavailable")
            surge = (rolling or {}).get("maxSurge")
            yield from int_or_percent(f"{field}.rollingUpdate.maxUnavailable", unavailable)
            yield from int_or_percent(f"{field}.rollingUpdate.maxSurge", surge)
            if percent_of(unavailable) == 0 and percent_of(surge) == 0:
                yield invalid(
                    f"{field}.rollingUpdate.maxUnavailable",
                    unavailable,
                    "may not be 0 when `maxSurge` is 0",
                )
            yield from at_most_all(f"{field}.rollingUpdate.maxUnavailable", unavailable)
        case other:
            yield not_supported(field, other, ("Recreate", "RollingUpdate"))

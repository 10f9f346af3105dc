"""Validation of Pods and pod templates."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.affinity import check_affinity
from myrmidon.apiserver.builtin.validation.common import (
    address,
    annotations,
    label,
    label_selector,
    labels,
    one_of,
    problems,
    qualified,
    subdomain,
)
from myrmidon.apiserver.builtin.validation.containers import check_containers, check_some_containers
from myrmidon.apiserver.builtin.validation.security import check_pod_security
from myrmidon.apiserver.builtin.validation.volumes import check_volumes
from myrmidon.apiserver.refusals.causes import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import label_value_problems

_SECONDS_MAX = 2**31 - 1
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_pod(pod: Json) -> Iterator[StatusCause]:
    """Check a Pod."""
    spec = pod["spec"]
    yield from check_pod_spec("spec", spec)
    if not spec.get("serviceAccountName"):
        yield from _check_tokens(spec)


def _check_tokens(spec: Json) -> Iterator[StatusCause]:
    for index, volume in enumerate(spec.get("volumes", ())):
        for number, source in enumerate(volume.get("projected", {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                yield forbidden(
                    f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )


def check_pod_template_object(template: Json) -> Iterator[StatusCause]:
    """Check a PodTemplate."""
    yield from check_template("template", template["template"])


def check_template(field: str, template: Json) -> Iterator[StatusCause]:
    """Check a pod template."""
    meta = template["metadata"]
    yield from labels(f"{field}.labels", meta.get("labels", {}))
    yield from annotations(f"{field}.annotations", meta.get("annotations", {}))
    yield from check_pod_spec(f"{field}.spec", template["spec"])
    if template["spec"].get("ephemeralContainers"):
        yield forbidden(
            f"{field}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )


def check_pod_spec(field: str, spec: Json) -> Iterator[StatusCause]:
    """Check the spec of a Pod."""
    yield from check_volumes(f"{field}.volumes", spec.get("volumes", []))
    volumes = [volume.get("name", "") for volume in spec.get("volumes", ())]
    containers, init = spec.get("containers") or [], spec.get("initContainers", [])
    yield from check_containers(f"{field}.containers", containers, volumes)
    taken = {container.get("name", "") for container in containers}
    yield from check_some_containers(f"{field}.initContainers", init, volumes, taken)
    yield from one_of(
        f"{field}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never")
    )
    yield from _check_names(field, spec)
    yield from _check_dns(field, spec)
    yield from check_pod_security(field, spec)
    yield from _check_times(field, spec)
    yield from _check_placement(field, spec)
    yield from _check_os(field, spec)


def _check_names(field: str, spec: Json) -> Iterator[StatusCause]:
    for name in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if spec.get(name):
            yield from subdomain(f"{field}.{name}", spec[name])
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from label(f"{field}.{name}", spec[name])
    for index, alias in enumerate(spec.get("hostAliases", ())):
        yield from address(f"{field}.hostAliases[{index}].ip", alias.get("ip", ""))
        for number, hostname in enumerate(alias.get("hostnames", ())):
            yield from subdomain(f"{field}.hostAliases[{index}].hostnames[{number}]", hostname)


def _check_dns(field: str, spec: Json) -> Iterator[StatusCause]:
    policies = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
    yield from one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy"), policies)
    if spec.get("dnsPolicy") != "None":
        return
    if "dnsConfig" not in spec:
        yield required(f"{field}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
    elif not spec["dnsConfig"].get("nameservers"):
        yield required(
            f"{field}.dnsConfig.nameservers",
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
        )


def _check_times(field: str, spec: Json) -> Iterator[StatusCause]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _SECONDS_MAX:
        yield invalid(
            f"{field}.activeDeadlineSeconds",
            deadline,
            f"must be between 1 and {_SECONDS_MAX}, inclusive",
        )


def _check_placement(field: str, spec: Json) -> Iterator[StatusCause]:
    yield from labels(f"{field}.nodeSelector", spec.get("nodeSelector", {}))
    for index, toleration in enumerate(spec.get("tolerations", ())):
        yield from _check_toleration(f"{field}.tolerations[{index}]", toleration)
    yield from check_affinity(f"{field}.affinity", spec.get("affinity", {}))
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        name = gate.get("name", "")
        yield from qualified(f"{field}.schedulingGates[{index}]", name)
        if name in (other.get("name") for other in spec["schedulingGates"][:index]):
            yield duplicate(f"{field}.schedulingGates[{index}]", name)
    for index, gate in enumerate(spec.get("readinessGates", ())):
        at = f"{field}.readinessGates[{index}].conditionType"
        yield from qualified(at, gate.get("conditionType", ""))
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        yield from _check_spread(f"{field}.topologySpreadConstraints[{index}]", constraint)


def _check_os(field: str, spec: Json) -> Iterator[StatusCause]:
    if "os" not in spec:
        return
    name = spec["os"].get("name", "")
    yield from one_of(f"{field}.os", name, ("linux", "windows"))
    if name == "windows":
        for host in ("hostPID", "hostIPC", "shareProcessNamespace"):
            if spec.get(host):
                yield forbidden(f"{field}.{host}", "cannot be set for a windows pod")


def _check_toleration(field: str, toleration: Json) -> Iterator[StatusCause]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        yield from qualified(f"{field}.key", key)
    elif operator != "Exists":
        yield invalid(
            f"{field}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    effect = toleration.get("effect", "")
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        yield invalid(
            f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    value = toleration.get("value", "")
    if operator in ("", "Equal"):
        yield from problems(f"{field}.operator", value, label_value_problems(value))
    elif operator == "Exists":
        if value:
            yield invalid(
                f"{field}.operator", value, "value must be empty when `operator` is 'Exists'"
            )
    else:
        yield from one_of(f"{field}.operator", operator, ("Equal", "Exists"))
    if effect:
        yield from one_of(f"{field}.effect", effect, _EFFECTS)


def _check_spread(field: str, constraint: Json) -> Iterator[StatusCause]:
    if constraint.get("maxSkew", 0) <= 0:
        yield invalid(f"{field}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
    if not constraint.get("topologyKey"):
        yield required(f"{field}.topologyKey", "can not be empty")
    choice, known = constraint.get("whenUnsatisfiable"), ("DoNotSchedule", "ScheduleAnyway")
    if choice not in known:
        yield not_supported(f"{field}.whenUnsatisfiable", choice, known)
    if "labelSelector" in constraint:
        yield from label_selector(f"{field}.labelSelector", constraint["labelSelector"])


_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)


def check_pod_status(pod: Json) -> Iterator[StatusCause]:
    """Check that the conditions of a Pod have qualified types."""
    for index, condition in enumerate(pod["status"].get("conditions", ())):
        yield from qualified(f"status.conditions[{index}].Type", condition.get("type", ""))


def check_pod_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that only the mutable fields of a Pod's spec change."""
    for name in ("containers", "initContainers"):
        if len(new["spec"].get(name) or ()) != len(old["spec"].get(name) or ()):
            yield forbidden(f"spec.{name}", "pod updates may not add or remove containers")
            return
    yield from _check_deadline_change(new["spec"], old["spec"])
    kept = [_without_time(toleration) for toleration in new["spec"].get("tolerations", ())]
    if any(_without_time(each) not in kept for each in old["spec"].get("tolerations", ())):
        yield forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        )
    gates = old["spec"].get("schedulingGates", [])
    for index, gate in enumerate(new["spec"].get("schedulingGates", ())):
        if gate not in gates:
            yield forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
            )
    if _fixed(new["spec"], gated=bool(gates)) != _fixed(old["spec"], gated=bool(gates)):
        yield forbidden(
            "spec", f"pod updates may not change fields other than {','.join(_UPDATABLE)}\n"
        )


def _without_time(toleration: Json) -> Json:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _check_deadline_change(spec: Json, before: Json) -> Iterator[StatusCause]:
    deadline, limit = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if limit is None:
        return
    field = "spec.activeDeadlineSeconds"
    if deadline is None:
        yield invalid(field, None, "must not update from a positive integer to nil value")
    elif deadline > limit:
        yield invalid(field, deadline, "must be less than or equal to previous value")


def _fixed(spec: Json, *, gated: bool) -> Json:
    """Return the immutable part of a spec; a gated pod may still change scheduling fields."""
    fixed = {
        key: value
        for key, value in spec.items()
        if key not in ("activeDeadlineSeconds", "tolerations", "schedulingGates")
        and not (gated and key in ("nodeSelector", "affinity"))
    }
    for name in ("containers", "initContainers"):
        if name in fixed:
            fixed[name] = [
                {key: value for key, value in container.items() if key != "image"}
                for container in fixed[name]
            ]
    return fixed

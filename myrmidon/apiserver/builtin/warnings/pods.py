"""Warnings about pods and the templates of workloads."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json, annotations_of, name_of
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.refusals.names import label_problems

# A label of nodes: since when it is deprecated, and the label to use instead.
_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
}
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_OF = "container.apparmor.security.beta.kubernetes.io/"
_IN_BYTES = ("memory", "ephemeral-storage", "storage")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SURPRISING = "which can result in surprising behavior; a DNS label is recommended"


def pod_warnings(pod: Json) -> Iterator[str]:
    """Return the warnings about a pod."""
    yield from name_warnings(pod, "the Pod's hostname")
    yield from _template_warnings("", pod)


def pod_template_warnings(template: Json) -> Iterator[str]:
    """Return the warnings about a PodTemplate."""
    yield from _template_warnings("template.", template["template"])


def workload_warnings(workload: Json, field: str = "spec.template.") -> Iterator[str]:
    """Return the warnings about the template of a workload."""
    template = workload
    for part in field.rstrip(".").split("."):
        template = template.get(part) or {}
    yield from _template_warnings(field, template)


def named_workload_warnings(workload: Json) -> Iterator[str]:
    """Return the warnings about the name and the template of a workload."""
    yield from name_warnings(workload, "Pod names and hostnames")
    yield from workload_warnings(workload)


def name_warnings(obj: Json, use: str) -> Iterator[str]:
    """Warn about a name that is not a DNS label, but becomes part of a host name."""
    problems = label_problems(name_of(obj))
    if problems:
        yield f"metadata.name: this is used in {use}, {_SURPRISING}: [{' '.join(problems)}]"


def deprecated_label(label: str) -> str:
    """Return what is to be used instead of a label of nodes, or ``""``."""
    if label not in _LABELS:
        return ""
    since, other = _LABELS[label]
    return f'deprecated since {since}; use "{other}" instead'


def fractional(field: str, amounts: Json | None) -> Iterator[str]:
    """Warn about amounts of bytes that are not whole."""
    for name, amount in sorted((amounts or {}).items()):
        value = parse_quantity(amount).amount
        if name in _IN_BYTES and value != value.to_integral_value():
            yield f'{field}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _template_warnings(field: str, template: Json) -> Iterator[str]:
    spec = template.get("spec") or {}
    at = f"{field}spec"
    for label in sorted(spec.get("nodeSelector") or {}):
        if said := deprecated_label(label):
            yield f"{at}.nodeSelector[{label}]: {said}"
    yield from _affinity(f"{at}.affinity", spec.get("affinity") or {})
    yield from _spread(f"{at}.topologySpreadConstraints", spec)
    for name in sorted(annotations_of(template)):
        yield from _annotation(f"{field}metadata.annotations[{name}]", name)
    for index, volume in enumerate(spec.get("volumes") or ()):
        for source in volume.keys() & VOLUMES.keys():
            yield f"{at}.volumes[{index}].{source}: {VOLUMES[source]}"
    yield from _repeated(f"{at}.hostAliases", spec.get("hostAliases") or [], "ip")
    yield from _repeated(f"{at}.imagePullSecrets", spec.get("imagePullSecrets") or [], "name")
    yield from _containers(at, spec)
    yield from fractional(f"{at}.overhead", spec.get("overhead"))


def node_terms(field: str, terms: list[Json]) -> Iterator[str]:
    """Warn about deprecated labels in the terms of a node selector."""
    for index, term in enumerate(terms):
        yield from _expressions(f"{field}[{index}]", term)


def _expressions(field: str, term: Json) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        if said := deprecated_label(expression.get("key", "")):
            yield f"{field}.matchExpressions[{index}].key: {expression['key']} is {said}"


def _affinity(field: str, affinity: Json) -> Iterator[str]:
    nodes = affinity.get("nodeAffinity") or {}
    required = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    yield from node_terms(f"{field}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms", required)
    for index, each in enumerate(nodes.get(_PREFERRED) or ()):
        at = f"{field}.nodeAffinity.{_PREFERRED}[{index}].preference"
        yield from _expressions(at, each.get("preference") or {})
    for part in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(part) or {}
        for index, term in enumerate(rules.get(_REQUIRED) or ()):
            yield from _selector(f"{field}.{part}.{_REQUIRED}[{index}]", term)
        for index, each in enumerate(rules.get(_PREFERRED) or ()):
            at = f"{field}.{part}.{_PREFERRED}[{index}].podAffinityTerm"
            yield from _selector(at, each.get("podAffinityTerm") or {})


def _selector(field: str, term: Json) -> Iterator[str]:
    if term.get("labelSelector") is None:
        yield f"{field}.labelSelector: a null labelSelector results in matching no pod"


def _spread(field: str, spec: Json) -> Iterator[str]:
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if said := deprecated_label(constraint.get("topologyKey", "")):
            yield f"{field}[{index}].topologyKey: {constraint['topologyKey']} is {said}"
        yield from _selector(f"{field}[{index}]", constraint)


def _annotation(field: str, name: str) -> Iterator[str]:
    if name == _SECCOMP or name.startswith(_SECCOMP_OF):
        yield f'{field}: non-functional in v1.27+; use the "seccompProfile" field instead'
    elif name.startswith(_APPARMOR_OF):
        yield f'{field}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _repeated(field: str, entries: list[Json], key: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        value = entry.get(key, "")
        if not value and key == "name":
            yield f'{field}[{index}].name: invalid empty name ""'
        elif value in seen:
            yield f'{field}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _containers(at: str, spec: Json) -> Iterator[str]:
    ports: dict[tuple[int, str], list[tuple[str, Json]]] = {}
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            field = f"{at}.{part}[{index}]"
            for kind in ("limits", "requests"):
                amounts = (container.get("resources") or {}).get(kind)
                yield from fractional(f"{field}.resources.{kind}", amounts)
            yield from _variables(f"{field}.env", container.get("env") or [])
            if part == "containers":
                yield from _ports(f"{field}.ports", container.get("ports") or [], ports)


def _variables(field: str, variables: list[Json]) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name = variable.get("name", "")
        if name in seen:
            yield (
                f'{field}[{index}]: hides previous definition of "{name}", which may be dropped when '
                "using apply"
            )
        seen.add(name)


def _ports(
    field: str, ports: list[Json], seen: dict[tuple[int, str], list[tuple[str, Json]]]
) -> Iterator[str]:
    """Warn about ports that an earlier container, or this one, has already."""
    for index, port in enumerate(ports):
        earlier = seen.setdefault((port.get("containerPort", 0), port.get("protocol", "TCP")), [])
        same = [where for where, other in earlier if _host(other) == _host(port)]
        overlapping = [where for where, other in earlier if _overlaps(other, port)]
        for where in same:
            yield f"{field}[{index}]: duplicate port definition with {where}"
        for where in overlapping:
            yield f"{field}[{index}]: overlapping port definition with {where}"
        earlier.append((f"{field}[{index}]", port))


def _host(port: Json) -> tuple[int, str]:
    return port.get("hostPort", 0), port.get("hostIP", "")


def _overlaps(one: Json, other: Json) -> bool:
    """Whether one of two ports has a host port and the other has none."""
    return (not one.get("hostPort")) != (not other.get("hostPort"))

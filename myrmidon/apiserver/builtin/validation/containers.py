"""Validation of the containers of pods."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import (
    label,
    non_negative,
    not_found,
    one_of,
    only_one,
    port_name,
    port_number,
    port_number_or_name,
    problems,
    subdomain,
)
from myrmidon.apiserver.builtin.validation.config import check_key
from myrmidon.apiserver.builtin.validation.security import check_container_security
from myrmidon.apiserver.refusals.causes import duplicate, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import qualified_problems

PROTOCOLS = ("SCTP", "TCP", "UDP")
_ENV_NAME = re.compile(r"[ -<>-~]+")  # printable ASCII except '='
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_OTHER_RESOURCES = ("storage", "pods", "services", "secrets", "configmaps")


def check_containers(
    field: str, containers: list[Json], volumes: Collection[str]
) -> Iterator[StatusCause]:
    """Check all containers of a pod: at least one, with unique names."""
    if not containers:
        yield required(field)
    yield from check_some_containers(field, containers, volumes, set())


def check_some_containers(
    field: str, containers: list[Json], volumes: Collection[str], names: set[str]
) -> Iterator[StatusCause]:
    """Check containers; their names must not be in ``names``, to which they are added."""
    for index, container in enumerate(containers):
        at = f"{field}[{index}]"
        yield from _check_container(at, container, volumes)
        name = container.get("name", "")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
    yield from _check_host_ports(field, containers)


def _check_container(
    field: str, container: Json, volumes: Collection[str]
) -> Iterator[StatusCause]:
    name = container.get("name", "")
    if name:
        yield from label(f"{field}.name", name)
    else:
        yield required(f"{field}.name")
    if not container.get("image"):
        yield required(f"{field}.image")
    elif container["image"] != container["image"].strip():
        yield invalid(
            f"{field}.image", container["image"], "must not have leading or trailing whitespace"
        )
    yield from one_of(
        f"{field}.terminationMessagePolicy",
        container.get("terminationMessagePolicy"),
        ("File", "FallbackToLogsOnError"),
    )
    yield from _check_ports(f"{field}.ports", container.get("ports", []))
    yield from _check_env(f"{field}.env", container.get("env", []))
    yield from _check_env_from(f"{field}.envFrom", container.get("envFrom", []))
    yield from _check_mounts(f"{field}.volumeMounts", container.get("volumeMounts", []), volumes)
    yield from one_of(
        f"{field}.imagePullPolicy",
        container.get("imagePullPolicy"),
        ("Always", "IfNotPresent", "Never"),
    )
    yield from check_resources(f"{field}.resources", container.get("resources", {}))
    if "securityContext" in container:
        yield from check_container_security(
            f"{field}.securityContext", container["securityContext"]
        )
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            yield from _check_probe(f"{field}.{probe}", container[probe], probe)
    for hook in ("postStart", "preStop"):
        if hook in container.get("lifecycle", {}):
            yield from _check_handler(f"{field}.lifecycle.{hook}", container["lifecycle"][hook])


def _check_ports(field: str, ports: list[Json]) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{field}[{index}]"
        name = port.get("name", "")
        if name:
            found = list(port_name(f"{at}.name", name))
            yield from found or ([duplicate(f"{at}.name", name)] if name in seen else [])
            seen.add(name)
        if port.get("containerPort", 0) == 0:
            yield required(f"{at}.containerPort")
        else:
            yield from port_number(f"{at}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            yield from port_number(f"{at}.hostPort", port["hostPort"])
        yield from one_of(f"{at}.protocol", port.get("protocol"), PROTOCOLS)


def _check_host_ports(field: str, containers: list[Json]) -> Iterator[StatusCause]:
    seen: set[tuple[Any, ...]] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = (port.get("protocol"), port.get("hostIP", ""), port["hostPort"])
            if key in seen:
                shown = f"{key[0]}/{key[1]}/{key[2]}"
                yield duplicate(f"{field}[{index}].ports[{number}].hostPort", shown)
            seen.add(key)


def _check_env(field: str, variables: list[Json]) -> Iterator[StatusCause]:
    for index, variable in enumerate(variables):
        at = f"{field}[{index}]"
        name = variable.get("name", "")
        if not name:
            yield required(f"{at}.name")
        elif not _ENV_NAME.fullmatch(name):
            yield invalid(
                f"{at}.name",
                name,
                "a valid environment variable name must consist only of printable ASCII "
                "characters other than '='",
            )
        if "valueFrom" in variable:
            yield from _check_value_from(f"{at}.valueFrom", variable)


def _check_value_from(field: str, variable: Json) -> Iterator[StatusCause]:
    sources = variable["valueFrom"]
    for source in ("configMapKeyRef", "secretKeyRef"):
        if source in sources:
            yield from subdomain(f"{field}.{source}.name", sources[source].get("name", ""))
            if not sources[source].get("key"):
                yield required(f"{field}.{source}.key")
            else:
                yield from check_key(f"{field}.{source}.key", sources[source]["key"])
    if "fieldRef" in sources and not sources["fieldRef"].get("fieldPath"):
        yield required(f"{field}.fieldRef.fieldPath")
    if "resourceFieldRef" in sources and not sources["resourceFieldRef"].get("resource"):
        yield required(f"{field}.resourceFieldRef.resource")
    count = sum(source in sources for source in (*_SOURCES, "fileKeyRef"))
    if count == 0:
        *most, last = (f"`{source}`" for source in (*_SOURCES, "fileKeyRef"))
        yield invalid(field, "", f"must specify one of: {', '.join(most)} or {last}")
    elif variable.get("value"):
        yield invalid(field, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid(field, "", "may not have more than one field specified at a time")


def _check_env_from(field: str, sources: list[Json]) -> Iterator[StatusCause]:
    for index, source in enumerate(sources):
        at = f"{field}[{index}]"
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in given:
            if not source[name].get("name"):
                yield required(f"{at}.{name}.name")
        if not given:
            yield invalid(field, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(field, "", "may not have more than one field specified at a time")


def _check_mounts(
    field: str, mounts: list[Json], volumes: Collection[str]
) -> Iterator[StatusCause]:
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        at = f"{field}[{index}]"
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not path:
            yield required(f"{at}.mountPath")
        if path in paths:
            yield invalid(f"{at}.mountPath", path, "must be unique")
        paths.add(path)
        for sub in ("subPath", "subPathExpr"):
            if mount.get(sub):
                yield from check_descending(f"{field}.{sub}", mount[sub])


def check_descending(field: str, path: str) -> Iterator[StatusCause]:
    """Check that a relative path does not leave its directory with ``..``."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def check_resources(field: str, resources: Json) -> Iterator[StatusCause]:
    """Check resource amounts: none below zero, and no request above its limit."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in sorted(amounts.items()):
            at = f"{field}.{part}[{name}]"
            yield from _check_resource_name(at, name)
            if parse_quantity(amount).amount < 0:
                yield invalid(at, amount, "must be greater than or equal to 0")
    for name, amount in sorted(requests.items()):
        limit = limits.get(name)
        if limit is not None and parse_quantity(amount).amount > parse_quantity(limit).amount:
            yield invalid(
                f"{field}.requests",
                amount,
                f"must be less than or equal to {name} limit of {limit}",
            )


def _check_resource_name(field: str, name: str) -> Iterator[StatusCause]:
    yield from problems(field, name, qualified_problems(name))
    if "/" in name or name in _CONTAINER_RESOURCES or name.startswith("hugepages-"):
        return
    if name not in _OTHER_RESOURCES:
        yield invalid(field, name, "must be a standard resource type or fully qualified")
    yield invalid(field, name, "must be a standard resource for containers")


def _check_probe(field: str, probe: Json, kind: str) -> Iterator[StatusCause]:
    yield from _check_handler(field, probe)
    for name in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        yield from non_negative(f"{field}.{name}", probe.get(name))
    if kind != "readinessProbe" and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{field}.successThreshold", probe["successThreshold"], "must be 1")
    if probe.get("terminationGracePeriodSeconds", 1) <= 0:
        yield invalid(
            f"{field}.terminationGracePeriodSeconds",
            probe["terminationGracePeriodSeconds"],
            "must be greater than 0",
        )


def _check_handler(field: str, handler: Json) -> Iterator[StatusCause]:
    given = [name for name in _HANDLERS if name in handler]
    yield from only_one(field, given, "handler type")
    if not given:
        return
    first, action = given[0], handler[given[0]]
    at = f"{field}.{first}"
    if first == "exec" and not action.get("command"):
        yield required(f"{at}.command")
    if first == "httpGet":
        if not action.get("path"):
            yield required(f"{at}.path")
        yield from one_of(f"{at}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
    if first in ("httpGet", "tcpSocket"):
        yield from port_number_or_name(f"{at}.port", action.get("port", 0))
    if first == "grpc":
        yield from port_number(f"{at}.port", action.get("port", 0))

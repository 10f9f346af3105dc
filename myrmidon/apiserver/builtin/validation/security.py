"""Validation of security contexts, of pods and of containers."""

import re
from collections.abc import Iterator
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import choice
from myrmidon.apiserver.golang.text import Struct
from myrmidon.apiserver.refusals.causes import duplicate, invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_ID_MAX = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_MAX = 253
_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL_PATTERN = re.compile(_SYSCTL)
_STRUCT = {"seLinuxOptions": "SELinuxOptions"}
_FIELDS = (
    "capabilities", "privileged", "seLinuxOptions", "windowsOptions", "runAsUser", "runAsGroup",
    "runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount",
    "seccompProfile", "appArmorProfile",
)  # fmt: skip


def check_pod_security(field: str, spec: Json) -> Iterator[StatusCause]:
    """Check the security context of a pod."""
    context, at = spec.get("securityContext") or {}, f"{field}.securityContext"
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from _check_id(f"{at}.{name}", context.get(name))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from _check_id(f"{at}.supplementalGroups[{index}]", group)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        problem = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{at}.shareProcessNamespace", value=True, detail=problem)
    yield from _check_profiles(at, context)
    yield from _check_sysctls(f"{at}.sysctls", context.get("sysctls") or [])
    if "fsGroupChangePolicy" in context:
        known = ("Always", "OnRootMismatch")
        yield from choice(f"{at}.fsGroupChangePolicy", context["fsGroupChangePolicy"], known)


def check_container_security(field: str, context: Json) -> Iterator[StatusCause]:
    """Check the security context of a container."""
    for name in ("runAsUser", "runAsGroup"):
        yield from _check_id(f"{field}.{name}", context.get(name))
    if "procMount" in context:
        yield from choice(f"{field}.procMount", context["procMount"], ("Default", "Unmasked"))
    yield from _check_profiles(field, context)
    if context.get("allowPrivilegeEscalation") is not False:
        return
    added = (context.get("capabilities") or {}).get("add") or ()
    for is_wrong, what in (
        (context.get("privileged"), "`privileged` to true"),
        ("CAP_SYS_ADMIN" in added, "`capabilities.Add` to CAP_SYS_ADMIN"),
    ):
        if is_wrong:
            problem = f"cannot set `allowPrivilegeEscalation` to false and {what}"
            yield invalid(field, _struct(context), problem)


def _struct(context: Json) -> Any:
    """Return a security context as Go prints the struct."""
    return Struct(
        (_STRUCT.get(name, name[0].upper() + name[1:]), context.get(name)) for name in _FIELDS
    )


def _check_id(field: str, value: int | None) -> Iterator[StatusCause]:
    if value is not None and not 0 <= value <= _ID_MAX:
        yield invalid(field, value, f"must be between 0 and {_ID_MAX}, inclusive")


def _check_profiles(field: str, context: Json) -> Iterator[StatusCause]:
    for name, what in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profile = context.get(name)
        if profile is None:
            continue
        kind, local = profile.get("type", ""), profile.get("localhostProfile")
        at = f"{field}.{name}"
        yield from choice(f"{at}.type", kind, _PROFILES)
        if kind == "Localhost" and not local:
            problem = f"must be set when {what} type is Localhost"
            yield required(f"{at}.localhostProfile", problem)
        elif kind in _PROFILES and kind != "Localhost" and local is not None:
            problem = f"can only be set when {what} type is Localhost"
            yield invalid(f"{at}.localhostProfile", local, problem)


def _check_sysctls(field: str, sysctls: list[Json]) -> Iterator[StatusCause]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name", ""), f"{field}[{index}].name"
        if not name:
            yield required(at)
        elif len(name) > _SYSCTL_MAX or not _SYSCTL_PATTERN.match(name):
            problem = f"must have at most {_SYSCTL_MAX} characters and match regex {_SYSCTL}"
            yield invalid(at, name, problem)
        elif name in seen:
            yield duplicate(at, name)
        seen.add(name)

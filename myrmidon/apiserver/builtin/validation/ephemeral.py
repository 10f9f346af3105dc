"""Validation of ephemeral containers, which ``kubectl debug`` adds through a subresource."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import label
from myrmidon.apiserver.refusals.causes import duplicate, forbidden, required
from myrmidon.apiserver.refusals.failures import StatusCause

FIELD = "spec.ephemeralContainers"
_NOT_FOR_THEM = (
    "ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources",
)  # fmt: skip


def check_ephemeral_creation(pod: Json) -> Iterator[StatusCause]:
    """Check that a pod is not created with ephemeral containers."""
    if pod["spec"].get("ephemeralContainers"):
        yield forbidden(FIELD, "cannot be set on create")


def check_ephemeral_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that ephemeral containers are only added, not changed or removed."""
    spec = new["spec"]
    given = spec.get("ephemeralContainers") or ()
    taken = {
        each["name"] for name in ("containers", "initContainers") for each in spec.get(name, ())
    }
    for index, container in enumerate(given):
        yield from _check(f"{FIELD}[{index}]", container, taken)
        taken.add(container.get("name", ""))
    found = {each.get("name"): each for each in given}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before["name"]
        if name not in found:
            yield forbidden(FIELD, f'existing ephemeral containers "{name}" may not be removed\n')
        elif found[name] != before:
            yield forbidden(FIELD, f'existing ephemeral containers "{name}" may not be changed\n')


def _check(field: str, container: Json, taken: set[str]) -> Iterator[StatusCause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{field}.name")
    elif name in taken:
        yield duplicate(f"{field}.name", name)
    else:
        yield from label(f"{field}.name", name)
    if not container.get("image"):
        yield required(f"{field}.image")
    for part in _NOT_FOR_THEM:
        if container.get(part):
            yield forbidden(f"{field}.{part}", "cannot be set for an Ephemeral Container")

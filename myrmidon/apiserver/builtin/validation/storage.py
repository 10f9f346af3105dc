"""Validation of PersistentVolumes, PersistentVolumeClaims and StorageClasses."""

from collections.abc import Iterator
from decimal import Decimal

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.quantities import parse_quantity
from myrmidon.apiserver.builtin.validation.common import (
    choice,
    label_selector,
    one_of,
    qualified,
    subdomain,
    unchanged,
)
from myrmidon.apiserver.refusals.causes import forbidden, invalid, not_supported, required
from myrmidon.apiserver.refusals.failures import StatusCause

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_SPEC_FIELDS = (
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "storageClassName",
    "persistentVolumeReclaimPolicy", "volumeAttributesClassName", "volumeMode",
)  # fmt: skip


def check_claim(claim: Json) -> Iterator[StatusCause]:
    """Check a PersistentVolumeClaim."""
    yield from check_claim_spec("spec", claim["spec"])


def check_claim_spec(field: str, spec: Json) -> Iterator[StatusCause]:
    """Check the spec of a claim or of a claim template."""
    yield from _check_modes(
        field, spec.get("accessModes", []), "at least 1 access mode is required"
    )
    if "selector" in spec:
        yield from label_selector(f"{field}.selector", spec["selector"])
    storage = spec["resources"].get("requests", {}).get("storage")
    if storage is None:
        yield required(f"{field}.resources[storage]")
    elif parse_quantity(storage).amount <= 0:
        yield invalid(f"{field}.resources[storage]", storage, "must be greater than zero")
    if spec.get("storageClassName"):
        yield from subdomain(f"{field}.storageClassName", spec["storageClassName"])
    yield from choice(f"{field}.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)


def check_claim_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check an update of a claim: bound claims can request more storage, little else can change."""
    spec, before = dict(new["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        before.pop("volumeName", None)
        spec.pop("volumeName", None)
    now, then = (
        part["resources"].get("requests", {}).get("storage", "0") for part in (spec, before)
    )
    if new["status"].get("phase") == "Bound":
        spec["resources"] = _with_storage(spec["resources"], then)
        for part in (spec, before):
            part.pop("volumeAttributesClassName", None)
    if spec != before:
        yield forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims\n",
        )
    granted = old["status"].get("capacity", {}).get("storage", "0")
    if _amount(now) < _amount(then) and _amount(now) <= _amount(granted):
        yield forbidden(
            "spec.resources.requests.storage", "field can not be less than status.capacity"
        )
    yield from unchanged("volumeMode", _mode(new), _mode(old))


def _mode(obj: Json) -> str | None:
    mode: str | None = obj["spec"].get("volumeMode")
    return mode


def _with_storage(resources: Json, amount: str) -> Json:
    return resources | {"requests": resources.get("requests", {}) | {"storage": amount}}


def _amount(text: str) -> Decimal:
    return parse_quantity(text).amount


def _check_modes(field: str, modes: list[str], missing: str) -> Iterator[StatusCause]:
    if not modes:
        yield required(f"{field}.accessModes", missing)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{field}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden(
            f"{field}.accessModes",
            "may not use ReadWriteOncePod with other access modes",
        )


def check_volume(volume: Json) -> Iterator[StatusCause]:
    """Check a PersistentVolume."""
    spec = volume["spec"]
    yield from _check_modes("spec", spec.get("accessModes", []), "")
    capacity = spec.get("capacity", {})
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield not_supported("spec.capacity", capacity or None, ("storage",))
    for name, amount in capacity.items():
        size = parse_quantity(amount).amount
        if size < 0:
            yield invalid(f"spec.capacity[{name}]", amount, "must be a valid resource quantity")
        if size <= 0:
            yield invalid(f"spec.capacity[{name}]", amount, "must be greater than zero")
    yield from one_of(
        "spec.persistentVolumeReclaimPolicy",
        spec.get("persistentVolumeReclaimPolicy"),
        ("Delete", "Recycle", "Retain"),
    )
    sources = [
        name for name, value in spec.items() if isinstance(value, dict) and name not in _SPEC_FIELDS
    ]
    if not sources:
        yield required("spec", "must specify a volume type")
    if "hostPath" in sources and not spec["hostPath"].get("path"):
        yield required("spec.hostPath.path")
    for name in sources[1:]:
        yield forbidden(f"spec.{name}", "may not specify more than 1 volume type")
    if spec.get("storageClassName"):
        yield from subdomain("spec.storageClassName", spec["storageClassName"])
    yield from choice("spec.volumeMode", spec.get("volumeMode"), _VOLUME_MODES)


def check_volume_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check that the source of a PersistentVolume does not change."""
    now, then = (
        {key: value for key, value in obj["spec"].items() if key not in _SPEC_FIELDS}
        for obj in (new, old)
    )
    if now != then:
        yield forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation\n",
        )
    yield from unchanged("volumeMode", _mode(new), _mode(old))


def check_storage_class(storage_class: Json) -> Iterator[StatusCause]:
    """Check a StorageClass."""
    provisioner = storage_class.get("provisioner", "")
    if not provisioner:
        yield required("provisioner")
    else:
        yield from qualified("provisioner", provisioner.lower())
    policy = storage_class.get("reclaimPolicy") or None
    yield from choice("reclaimPolicy", policy, ("Delete", "Retain"))
    yield from choice(
        "volumeBindingMode",
        storage_class.get("volumeBindingMode"),
        ("Immediate", "WaitForFirstConsumer"),
    )


def check_storage_class_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check the fields of a StorageClass that cannot change."""
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from unchanged(field, new.get(field), old.get(field))

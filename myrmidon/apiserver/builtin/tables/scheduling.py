"""Tables of priority classes, runtime classes, devices and resource claims."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells


def _priority_class(priority: Json, now: datetime) -> list[Any]:
    return [
        cells.name(priority),
        priority.get("value", 0),
        priority.get("globalDefault", False),
        cells.age(priority, now),
        priority.get("preemptionPolicy", ""),
    ]


def _runtime_class(runtime: Json, now: datetime) -> list[Any]:
    return [cells.name(runtime), runtime.get("handler", ""), cells.age(runtime, now)]


def _name_and_age(obj: Json, now: datetime) -> list[Any]:
    return [cells.name(obj), cells.age(obj, now)]


def _resource_claim(claim: Json, now: datetime) -> list[Any]:
    status = claim.get("status", {})
    states = ["deleted"] if claim["metadata"].get("deletionTimestamp") else []
    if "allocation" in status:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    return [cells.name(claim), ",".join(states or ["pending"]), cells.age(claim, now)]


def _resource_slice(slice_: Json, now: datetime) -> list[Any]:
    spec = slice_["spec"]
    pool = spec.get("pool", {}).get("name", "")
    where = [spec.get("nodeName", ""), spec.get("driver", ""), pool]
    return [cells.name(slice_), *where, cells.age(slice_, now)]


PRINTERS = {
    "PriorityClass": _priority_class,
    "RuntimeClass": _runtime_class,
    "DeviceClass": _name_and_age,
    "ResourceClaimTemplate": _name_and_age,
    "ResourceClaim": _resource_claim,
    "ResourceSlice": _resource_slice,
}

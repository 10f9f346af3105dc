"""Meddling: the changes that another client, the monkey, makes to an object.

delete     deletes it                     edit        edits it, so that a controller has to repair it
status     edits its status               garbage     fills its status with claims that are not true
orphan     removes its labels and owners  burst       edits an annotation many times
hold       adds a finalizer for a while   terminate   deletes it while such a finalizer holds it
strip      removes the finalizers of controllers, unless it is being deleted
occupy     deletes it and puts an object of another owner in its place for a while; with
               the number 1 that object has no owner
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting, labels_of
from myrmidon.api.objects.refs import Kind
from myrmidon.testing.simulation.actions import Action, thawed
from myrmidon.testing.simulation.embedded import DRIFT
from myrmidon.testing.simulation.stage import Stage

FOREIGN = "simulation.myrmidon.dev/foreign"
"""The finalizer, label and annotation of the monkey."""
OTHER_OWNER = "simulated-other-owner"
"""The ConfigMap that owns the objects of ``occupy``; end states never contain it."""
MERGE = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_HELD_SECONDS = 20.0
_BURST = 50

Meddle: TypeAlias = Callable[[Stage, Action, Json, str], bool]


def meddle(run: Stage, index: int, action: Action) -> None:
    """Let the monkey change the object that an action names, if it exists."""
    kind, _, place = action.target.partition("/")
    namespace, _, name = place.rpartition("/")
    found = run.world.type_of(kind)
    for obj in run.world.list(kind):
        meta = obj["metadata"]
        if name in ("", meta["name"]) and namespace in ("", meta.get("namespace")):
            if _ALL[action.how](run, action, obj, run.path_of(found, obj)):
                run.director.mark(index)
            return


def _delete(run: Stage, action: Action, obj: Json, path: str) -> bool:
    del action, obj
    run.meddle("DELETE", path, {"propagationPolicy": "Background"})
    return True


def _edit(run: Stage, action: Action, obj: Json, path: str) -> bool:
    run.meddle("PATCH", path, thawed(action.body) or _drift(obj), MERGE)
    return True


def _status(run: Stage, action: Action, obj: Json, path: str) -> bool:
    del obj
    run.meddle("PATCH", f"{path}/status", {"status": thawed(action.body)}, MERGE)
    return True


def _garbage(run: Stage, action: Action, obj: Json, path: str) -> bool:
    """Write conditions of the wrong status and generation, and forget every other field."""
    del action
    status = obj.get("status")
    if not isinstance(status, dict) or not status:
        return False
    wrong: Json = dict.fromkeys(status)
    if "observedGeneration" in status:
        wrong["observedGeneration"] = obj["metadata"].get("generation", 1) + 40
    if isinstance(status.get("conditions"), list):
        wrong["conditions"] = [_flipped(one) for one in status["conditions"]]
    run.meddle("PATCH", f"{path}/status", {"status": wrong}, MERGE)
    return True


def _flipped(condition: Json) -> Json:
    status = "False" if condition.get("status") == "True" else "True"
    return {**condition, "status": status, "reason": "Garbage", "message": "not true"}


def _orphan(run: Stage, action: Action, obj: Json, path: str) -> bool:
    del action
    labels = dict.fromkeys(labels_of(obj))
    run.meddle("PATCH", path, {"metadata": {"ownerReferences": None, "labels": labels}}, MERGE)
    return True


def _hold(run: Stage, action: Action, obj: Json, path: str) -> bool:
    if is_deleting(obj):
        return False
    mine = [*finalizers_of(obj), FOREIGN]
    run.meddle("PATCH", path, {"metadata": {"finalizers": mine}}, MERGE)
    run.healing.after(action.lasts or _HELD_SECONDS, lambda: _let_go(run, obj, path))
    return True


def _let_go(run: Stage, obj: Json, path: str) -> None:
    """Remove the monkey's finalizer, and no other, from the same object."""
    for there in run.world.list(obj["kind"]):
        meta = there["metadata"]
        if meta.get("uid") == obj["metadata"]["uid"] and FOREIGN in finalizers_of(there):
            at = f"/metadata/finalizers/{finalizers_of(there).index(FOREIGN)}"
            test: Json = {"op": "test", "path": at, "value": FOREIGN}
            patch: Any = [test, {"op": "remove", "path": at}]
            run.meddle("PATCH", path, patch, _JSON_PATCH)


def _terminate(run: Stage, action: Action, obj: Json, path: str) -> bool:
    return _hold(run, action, obj, path) and _delete(run, action, obj, path)


def _strip(run: Stage, action: Action, obj: Json, path: str) -> bool:
    del action
    if is_deleting(obj) or not finalizers_of(obj):
        return False
    run.meddle("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
    return True


def _burst(run: Stage, action: Action, obj: Json, path: str) -> bool:
    del obj
    for number in range(action.number or _BURST):
        edit: Json = {"metadata": {"annotations": {FOREIGN: str(number)}}}
        run.meddle("PATCH", path, edit, MERGE)
    run.meddle("PATCH", path, {"metadata": {"annotations": {FOREIGN: None}}}, MERGE)
    return True


def _occupy(run: Stage, action: Action, obj: Json, path: str) -> bool:
    if finalizers_of(obj) or is_deleting(obj) or not obj["metadata"].get("namespace"):
        return False
    where = obj["metadata"]["namespace"]
    name = obj["metadata"]["name"]
    meta: Json = {"name": name, "namespace": where, "labels": {FOREIGN: "true"}}
    if not action.number:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": OTHER_OWNER}
        uid = _other_owner(run, where)
        meta["ownerReferences"] = [{**reference, "controller": True, "uid": uid}]
    _delete(run, action, obj, path)
    content = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    found: Kind = run.world.type_of(obj["kind"]).kind
    run.meddle(
        "POST",
        path.rpartition("/")[0],
        {**content, "apiVersion": found.api_version, "kind": found.kind, "metadata": meta},
    )
    run.healing.after(action.lasts or _HELD_SECONDS, lambda: _leave(run, obj, path))
    return True


def _other_owner(run: Stage, where: str) -> str:
    path = f"/api/v1/namespaces/{where}/configmaps"
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": OTHER_OWNER}}
    run.meddle("POST", path, body)
    found = run.world.get("ConfigMap", OTHER_OWNER, where)
    return "" if found is None else str(found["metadata"]["uid"])


def _leave(run: Stage, obj: Json, path: str) -> None:
    meta = obj["metadata"]
    there = run.world.get(obj["kind"], meta["name"], meta["namespace"])
    if there is not None and FOREIGN in labels_of(there):
        run.meddle("DELETE", path, {"propagationPolicy": "Background"})
    run.meddle("DELETE", f"/api/v1/namespaces/{meta['namespace']}/configmaps/{OTHER_OWNER}")


def _drift(obj: Json) -> Json:
    """Return an edit that a controller has to undo: other labels, other data, fewer replicas."""
    if isinstance(obj.get("data"), dict) and obj["data"]:
        key = min(obj["data"])
        return {"data": {key: "ZHJpZnQ=" if obj.get("kind") == "Secret" else "drift"}}
    if isinstance((obj.get("spec") or {}).get("replicas"), int):
        return {"spec": {"replicas": obj["spec"]["replicas"] + 1}}
    return {"metadata": {"labels": {DRIFT: "true"}}}


_ALL: dict[str, Meddle] = {
    "delete": _delete,
    "edit": _edit,
    "status": _status,
    "garbage": _garbage,
    "orphan": _orphan,
    "hold": _hold,
    "terminate": _terminate,
    "strip": _strip,
    "burst": _burst,
    "occupy": _occupy,
}

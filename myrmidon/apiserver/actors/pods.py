"""Simplified scheduler and kubelet, Job controller and volume binder."""

from datetime import datetime, timedelta
from hashlib import blake2b

from myrmidon.api.objects.accessors import (
    Json,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import Follower, pod_of, pods_path
from myrmidon.apiserver.actors.objects import CONTROLLER_MANAGER, patch
from myrmidon.apiserver.store import StoredChange

NODE, HOST_ADDRESS = "node", "192.168.0.2"  # there is no Node object of this name
_JOB_CONTROLLER = "kubernetes.io/job-controller"


class Kubelet:
    """Reports every pod as running and ready after a delay, without running containers.

    It also binds the pod to a node, as the scheduler does, and gives it an address.  A pod whose
    restartPolicy is not ``Always`` succeeds after another delay.  A pod that is being deleted is
    removed as soon as the server settles: watches see it terminating, then deleted.
    """

    watched = ("pods",)

    def __init__(self, delay: timedelta = timedelta(seconds=1)) -> None:
        self._delay = delay
        self._dirty: dict[str, None] = {}
        self._due: dict[str, datetime] = {}

    def observe(self, change: StoredChange) -> None:
        """Mark pods that were created or changed as dirty."""
        if change.resource != "pods":
            return
        if change.deleted:
            self._due.pop(change.record.key, None)
        else:
            self._dirty[change.record.key] = None

    def due(self) -> datetime | None:
        """Return when the next status of a pod is due; None if no pod waits."""
        return min(self._due.values(), default=None)

    def act(self, server: ServerAccess) -> bool:
        """Remove deleted pods and write each status that is due; return whether it wrote."""
        if not self._dirty and not self._due:
            return False
        before, now = server.store.revision, server.core.environment.now()
        dirty, self._dirty = self._dirty, {}
        for key in dirty:
            record = server.store.get("pods", key)
            if record is not None:
                self._remove_or_schedule(server, key, record.value, now)
        for key in [key for key, at in self._due.items() if at <= now]:
            del self._due[key]
            record = server.store.get("pods", key)
            if record is not None:
                self._progress(server, record.value, now)
        return server.store.revision != before

    def _remove_or_schedule(self, server: ServerAccess, key: str, pod: Json, now: datetime) -> None:
        if is_deleting(pod):
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid_of(pod)}}
            server.request("DELETE", _path(pod), options, user=CONTROLLER_MANAGER)
        elif key not in self._due and _phase(pod) in ("Pending", "Running") and not _is_steady(pod):
            self._due[key] = now + self._delay

    def _progress(self, server: ServerAccess, pod: Json, now: datetime) -> None:
        if is_deleting(pod):
            return
        ends = pod["spec"].get("restartPolicy") != "Always"
        starts = _phase(pod) == "Pending" or not ends
        if starts and not pod["spec"].get("nodeName"):
            binding = {"metadata": {"name": name_of(pod)}, "target": {"kind": "Node", "name": NODE}}
            server.request("POST", f"{_path(pod)}/binding", binding, user=CONTROLLER_MANAGER)
        status = _running(pod, now) if starts else _succeeded(pod, now)
        patch(server, f"{_path(pod)}/status", {"status": status})


class Jobs(Follower):
    """Creates the pods of Jobs, and counts the pods that succeed."""

    resource, kind, api_version = "jobs.batch", "Job", "batch/v1"

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Create pods until enough have succeeded, and write the status."""
        foreign = obj["spec"].get("managedBy") not in (None, _JOB_CONTROLLER)
        if is_deleting(obj) or foreign or _has_condition(obj, "Complete"):
            return
        pods = list(self.children(server, obj, "pods"))
        wanted = obj["spec"].get("completions") or 1
        succeeded = sum(_phase(pod) == "Succeeded" for pod in pods)
        active = sum(_phase(pod) in ("Pending", "Running") for pod in pods)
        missing = min(obj["spec"].get("parallelism", 1), wanted - succeeded) - active
        if obj["spec"].get("suspend"):
            missing = 0
        for _ in range(max(missing, 0)):
            template, reference = obj["spec"]["template"], self.owner_reference(obj)
            pod = pod_of(obj, template, reference, generateName=f"{name_of(obj)}-")
            if self.create(server, obj, pods_path(obj), pod):
                missing = 0
                break
        now = write_time(server.core.environment.now())
        status: Json = {
            "active": active + max(missing, 0) or None,
            "ready": 0,
            "succeeded": succeeded or None,
            "startTime": (obj.get("status") or {}).get("startTime") or now,
        }
        if succeeded >= wanted:
            done = {"status": "True", "lastProbeTime": now, "lastTransitionTime": now}
            reason = {
                "reason": "CompletionsReached",
                "message": "Reached expected number of succeeded pods",
            }
            kinds = ("SuccessCriteriaMet", "Complete")
            status |= {
                "completionTime": now,
                "conditions": [{"type": kind, **done, **reason} for kind in kinds],
            }
        self.write_status(server, obj, status)


class Volumes(Follower):
    """Binds every PersistentVolumeClaim, without any storage behind it."""

    resource, kind, api_version = "persistentvolumeclaims", "PersistentVolumeClaim", "v1"

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Bind a claim, with the capacity that it requests now."""
        capacity = (obj["spec"].get("resources") or {}).get("requests") or {}
        bound = _phase(obj) == "Bound" and (obj.get("status") or {}).get("capacity") == capacity
        if is_deleting(obj) or bound:
            return
        path = f"/api/v1/namespaces/{namespace_of(obj)}/persistentvolumeclaims/{name_of(obj)}"
        if not obj["spec"].get("volumeName"):
            patch(server, path, {"spec": {"volumeName": f"pvc-{uid_of(obj)}"}})
        status = {
            "phase": "Bound",
            "accessModes": obj["spec"].get("accessModes") or [],
            "capacity": capacity,
        }
        patch(server, f"{path}/status", {"status": status})


def _path(pod: Json) -> str:
    return f"{pods_path(pod)}/{name_of(pod)}"


def _phase(obj: Json) -> str:
    return str((obj.get("status") or {}).get("phase") or "Pending")


def _has_condition(obj: Json, kind: str) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _is_steady(pod: Json) -> bool:
    """Whether the status of the pod will not change by itself: it is ready and runs forever."""
    ends = pod["spec"].get("restartPolicy") != "Always"
    return _phase(pod) == "Running" and not ends and _has_condition(pod, "Ready")


def address_of(pod: Json) -> str:
    """Return the address of a pod, made from its uid; that of the node if it uses the host network."""
    if pod["spec"].get("hostNetwork"):
        return HOST_ADDRESS
    first, second = blake2b(uid_of(pod).encode(), digest_size=2).digest()
    return f"10.244.{first}.{second}"


def _running(pod: Json, now: datetime) -> Json:
    at = write_time(now)
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    address = address_of(pod)
    return {
        "phase": "Running",
        "startTime": at,
        "hostIP": HOST_ADDRESS,
        "hostIPs": [{"ip": HOST_ADDRESS}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": at} for kind in kinds
        ],
        "containerStatuses": [
            _container(container, ready=True, state={"running": {"startedAt": at}})
            for container in pod["spec"].get("containers") or ()
        ],
    }


def _succeeded(pod: Json, now: datetime) -> Json:
    at = write_time(now)
    ended = {
        "terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": at, "startedAt": at}
    }
    return {
        "phase": "Succeeded",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": at}
        ],
        "containerStatuses": [
            _container(container, ready=False, state=ended)
            for container in pod["spec"].get("containers") or ()
        ],
    }


def _container(container: Json, *, ready: bool, state: Json) -> Json:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }

"""The table of Pods."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.resources.tables import since

_CONDITIONS = {
    "Succeeded": {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    },
    "Failed": {
        "type": "Completed",
        "status": "True",
        "reason": "Failed",
        "message": "The pod failed.",
    },
}


def row_conditions(pod: Json) -> Sequence[Json]:
    """Return a condition for a pod that has ended, which lets clients hide its row."""
    condition = _CONDITIONS.get(pod.get("status", {}).get("phase", ""))
    return [condition] if condition else ()


def _pod(pod: Json, now: datetime) -> list[Any]:
    spec, status = pod["spec"], pod.get("status", {})
    progress = _Progress(pod)
    restarts = str(progress.restarts)
    if progress.restarts and progress.last_restart:
        restarts += f" ({since(progress.last_restart, now)} ago)"
    addresses = status.get("podIPs") or [{}]
    return [
        cells.name(pod),
        f"{progress.ready}/{progress.total}",
        progress.reason,
        restarts,
        cells.age(pod, now),
        addresses[0].get("ip") or cells.NONE,
        spec.get("nodeName") or cells.NONE,
        status.get("nominatedNodeName") or cells.NONE,
        _gates(spec, status),
    ]


def _gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates", [])
    if not gates:
        return cells.NONE
    held = {
        condition["type"]
        for condition in status.get("conditions", ())
        if condition.get("status") == "True"
    }
    return f"{sum(gate.get('conditionType') in held for gate in gates)}/{len(gates)}"


class _Progress:
    """The number of ready containers and restarts of a pod, and the reason shown as its status."""

    def __init__(self, pod: Json) -> None:
        self._spec, self._status = pod["spec"], pod.get("status", {})
        self.reason = self._status.get("reason") or self._status.get("phase", "")
        self.ready = self.restarts = 0
        self.last_restart = ""
        self._sidecars = {
            container["name"]
            for container in self._spec.get("initContainers", ())
            if container.get("restartPolicy") == "Always"
        }
        self.total = len(self._spec.get("containers") or ()) + len(self._sidecars)
        conditions = self._status.get("conditions", ())
        if any(condition.get("reason") == "SchedulingGated" for condition in conditions):
            self.reason = "SchedulingGated"
        if not self._initializing() or _holds(conditions, "Initialized"):
            self._count_containers(_holds(conditions, "Ready"))
        self._look_at_deletion(pod)

    def _initializing(self) -> bool:
        total = len(self._spec.get("initContainers", ()))
        for index, container in enumerate(self._status.get("initContainerStatuses", ())):
            self._add_restarts(container)
            state = container.get("state", {})
            ended, waiting = state.get("terminated"), state.get("waiting", {}).get("reason", "")
            if ended is not None and not ended.get("exitCode"):
                continue
            if container["name"] in self._sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if ended is not None:
                self.reason = f"Init:{_end(ended)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{index}/{total}"
            return True
        return False

    def _count_containers(self, is_ready: bool) -> None:
        self.restarts, self.last_restart = 0, ""
        for container in self._status.get("initContainerStatuses", ()):
            if container["name"] in self._sidecars:
                self._add_restarts(container)
        running, error = False, ""
        for container in reversed(self._status.get("containerStatuses", ())):
            self._add_restarts(container)
            state = container.get("state", {})
            ended, waiting = state.get("terminated"), state.get("waiting", {}).get("reason")
            if waiting:
                self.reason = waiting
            elif ended is not None:
                self.reason = _end(ended)
                error = self.reason if ended.get("exitCode") else error
            elif container.get("ready") and "running" in state:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and is_ready:
                self.reason = "Running"
            else:
                self.reason = error or ("NotReady" if running else self.reason)

    def _add_restarts(self, container: Json) -> None:
        self.restarts += container.get("restartCount", 0)
        ended = container.get("lastState", {}).get("terminated", {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, ended)

    def _look_at_deletion(self, pod: Json) -> None:
        if not pod["metadata"].get("deletionTimestamp"):
            return
        if self._status.get("reason") == "NodeLost":
            self.reason = "Unknown"
        elif self._status.get("phase") not in ("Succeeded", "Failed"):
            self.reason = "Terminating"


def _end(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _holds(conditions: Sequence[Json], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _pod_template(template: Json, now: datetime) -> list[Any]:
    del now
    pod = template["template"]
    return [
        cells.name(template),
        *cells.containers(pod["spec"]),
        cells.labels(pod["metadata"].get("labels")),
    ]


PRINTERS = {"Pod": _pod, "PodTemplate": _pod_template}

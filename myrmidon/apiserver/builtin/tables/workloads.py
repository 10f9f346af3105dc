"""Tables of Deployments, DaemonSets, StatefulSets, ReplicaSets, Jobs and CronJobs."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json, controller_of
from myrmidon.api.objects.refs import split_api_version
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.golang.times import parse_time
from myrmidon.apiserver.resources.tables import human_duration, since


def _deployment(deployment: Json, now: datetime) -> list[Any]:
    spec, status = deployment["spec"], deployment.get("status", {})
    return [
        cells.name(deployment),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        cells.age(deployment, now),
        *cells.containers(spec["template"]["spec"]),
        cells.selector_text(spec.get("selector")),
    ]


def _replica_set(replica_set: Json, now: datetime) -> list[Any]:
    spec, status = replica_set["spec"], replica_set.get("status", {})
    return [
        cells.name(replica_set),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        cells.age(replica_set, now),
        *cells.containers(spec.get("template", {}).get("spec", {})),
        cells.selector(spec.get("selector")),
    ]


def _replication_controller(controller: Json, now: datetime) -> list[Any]:
    *most, _ = _replica_set(controller | {"spec": controller["spec"] | {"selector": {}}}, now)
    return [*most, cells.labels(controller["spec"].get("selector"))]


def _stateful_set(stateful_set: Json, now: datetime) -> list[Any]:
    spec, status = stateful_set["spec"], stateful_set.get("status", {})
    return [
        cells.name(stateful_set),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        cells.age(stateful_set, now),
        *cells.containers(spec["template"]["spec"]),
    ]


def _daemon_set(daemon_set: Json, now: datetime) -> list[Any]:
    spec, status = daemon_set["spec"], daemon_set.get("status", {})
    counts = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        cells.name(daemon_set),
        *(status.get(count, 0) for count in counts),
        cells.labels(spec["template"]["spec"].get("nodeSelector")),
        cells.age(daemon_set, now),
        *cells.containers(spec["template"]["spec"]),
        cells.selector(spec.get("selector")),
    ]


def _controller_revision(revision: Json, now: datetime) -> list[Any]:
    controller = controller_of(revision)
    shown = cells.NONE
    if controller is not None:
        group, _ = split_api_version(controller["apiVersion"])
        kind = f"{controller['kind']}.{group}" if group else controller["kind"]
        shown = f"{kind.lower()}/{controller['name']}"
    return [cells.name(revision), shown, revision.get("revision", 0), cells.age(revision, now)]


_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job(job: Json, now: datetime) -> list[Any]:
    spec, status = job["spec"], job.get("status", {})
    return [
        cells.name(job),
        _job_state(job),
        _completions(spec, status),
        _job_duration(status, now),
        cells.age(job, now),
        *cells.containers(spec["template"]["spec"]),
        cells.selector(spec.get("selector")),
    ]


def _job_state(job: Json) -> str:
    held = {
        condition["type"]
        for condition in job.get("status", {}).get("conditions", ())
        if condition.get("status") == "True"
    }
    for condition, state in _JOB_STATES:
        if condition in held or (not condition and job["metadata"].get("deletionTimestamp")):
            return state
    return "Running"


def _completions(spec: Json, status: Json) -> str:
    done = status.get("succeeded", 0)
    if "completions" in spec:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(status: Json, now: datetime) -> str:
    started, ended = status.get("startTime"), status.get("completionTime")
    if not started:
        return ""
    end = parse_time(ended) if ended else now
    return human_duration((end - parse_time(started)).total_seconds())


def _cron_job(cron_job: Json, now: datetime) -> list[Any]:
    spec, status = cron_job["spec"], cron_job.get("status", {})
    last = status.get("lastScheduleTime")
    job = spec["jobTemplate"]["spec"]
    return [
        cells.name(cron_job),
        spec.get("schedule", ""),
        spec.get("timeZone", cells.NONE),
        "True" if spec.get("suspend") else "False",
        len(status.get("active", ())),
        since(last, now) if last else cells.NONE,
        cells.age(cron_job, now),
        *cells.containers(job["template"]["spec"]),
        cells.selector(job.get("selector")),
    ]


PRINTERS = {
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ControllerRevision": _controller_revision,
    "Job": _job,
    "CronJob": _cron_job,
}

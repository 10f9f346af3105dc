"""Defaults of Deployments, DaemonSets, StatefulSets, ReplicaSets, Jobs and CronJobs."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.defaults.completions import Completion, fill

_UNLIMITED = 2**31 - 1


def _deployment_spec(spec: Json) -> None:
    fill(replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)(spec)
    strategy = spec["strategy"]
    fill(type="RollingUpdate")(strategy)
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        fill(maxUnavailable="25%", maxSurge="25%")(rolling)


def _daemon_set_spec(spec: Json) -> None:
    fill(revisionHistoryLimit=10)(spec)
    strategy = spec["updateStrategy"]
    fill(type="RollingUpdate")(strategy)
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        fill(maxUnavailable=1, maxSurge=0)(rolling)


def _stateful_set_spec(spec: Json) -> None:
    fill(
        podManagementPolicy="OrderedReady",
        replicas=1,
        revisionHistoryLimit=10,
        persistentVolumeClaimRetentionPolicy={},
    )(spec)
    fill(whenDeleted="Retain", whenScaled="Retain")(spec["persistentVolumeClaimRetentionPolicy"])
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        fill(partition=0)(strategy["rollingUpdate"])
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _job(job: Json) -> None:
    spec = job["spec"]
    labels = spec["template"]["metadata"].get("labels")
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    fill(
        parallelism=1,
        backoffLimit=_UNLIMITED if "backoffLimitPerIndex" in spec else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        manualSelector=False,
    )(spec)
    if labels:
        # Both share one map, as in the real server: labels added to the template appear in the Job.
        job["metadata"].setdefault("labels", labels)


WORKLOADS: dict[str, Completion] = {
    "apps.v1.DeploymentSpec": _deployment_spec,
    "apps.v1.DaemonSetSpec": _daemon_set_spec,
    "apps.v1.StatefulSetSpec": _stateful_set_spec,
    "apps.v1.ReplicaSetSpec": fill(replicas=1),
    "batch.v1.Job": _job,
    "batch.v1.CronJobSpec": fill(
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    ),
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": fill(status="True"),
}

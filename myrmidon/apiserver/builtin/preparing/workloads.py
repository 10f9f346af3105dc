"""Preparation of Deployments, DaemonSets and Jobs."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.golang.numbers import read_int

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def create_job(job: Json, cluster: ObjectLookup) -> None:
    """Generate the selector from the uid of the Job, unless ``manualSelector`` is set."""
    del cluster
    if job["spec"].get("manualSelector"):
        return
    meta = job["metadata"]
    labels = job["spec"]["template"]["metadata"].setdefault("labels", {})
    for key in ("job-name", "batch.kubernetes.io/job-name"):
        labels.setdefault(key, meta.get("name", ""))
    for key in ("controller-uid", "batch.kubernetes.io/controller-uid"):
        labels.setdefault(key, meta.get("uid", ""))
    if not meta.get("labels") or meta["labels"] is labels:
        meta["labels"] = dict(labels)
    selector = job["spec"].setdefault("selector", {}).setdefault("matchLabels", {})
    selector.setdefault("batch.kubernetes.io/controller-uid", meta.get("uid", ""))


def create_daemon_set(daemon_set: Json, cluster: ObjectLookup) -> None:
    """Set the annotation that keeps ``templateGeneration``, a field of an older API version."""
    del cluster
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations.setdefault(_TEMPLATE_GENERATION, "1")


def update_daemon_set(daemon_set: Json, old: Json, cluster: ObjectLookup) -> None:
    """Increase ``templateGeneration`` in the annotation if the template changed."""
    del cluster
    counted = old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "1")
    generation = read_int(counted) if counted.isascii() and counted.isdigit() else 0
    if daemon_set["spec"]["template"] != old["spec"]["template"]:
        generation += 1
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[_TEMPLATE_GENERATION] = str(generation)


def update_daemon_set_status(daemon_set: Json, old: Json, cluster: ObjectLookup) -> None:
    """Restore the annotation of ``templateGeneration``, which belongs to the spec."""
    del cluster
    counted = old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "1")
    daemon_set["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = counted


def update_deployment_status(deployment: Json, old: Json, cluster: ObjectLookup) -> None:
    """Restore the labels; annotations and finalizers can change with the status."""
    del cluster
    deployment["metadata"].pop("labels", None)
    if "labels" in old["metadata"]:
        deployment["metadata"]["labels"] = old["metadata"]["labels"]

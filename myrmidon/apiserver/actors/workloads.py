"""Simplified controllers of Deployments, ReplicaSets and StatefulSets.

A rollout has no surge and no budget: a new template gets a new ReplicaSet at full size, and the old
one is scaled to zero when the new one is available.
"""

from functools import lru_cache
from hashlib import blake2b

import orjson

from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    generation_of,
    is_deleting,
    name_of,
    uid_of,
)
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors.actor import ServerAccess
from myrmidon.apiserver.actors.followers import Follower, is_pod_ready, pod_of, pods_path
from myrmidon.apiserver.actors.objects import delete, patch
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.golang.text import to_json

_HASH = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


class Deployments(Follower):
    """Creates a ReplicaSet per template, scales it, and reports the progress."""

    resource, kind, api_version = "deployments.apps", "Deployment", "apps/v1"

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Bring up the ReplicaSet of the current template, then scale down the others."""
        if is_deleting(obj):
            return
        sets = {name_of(one): one for one in self.adopted(server, obj, "replicasets.apps")}
        wanted = _current_set(obj, sets)
        replicas = obj["spec"].get("replicas", 1)
        latest = max(map(_revision_number, sets.values()), default=0)
        if wanted not in sets:
            if self._is_recreated(server, obj, sets):
                manifest = self._replica_set(obj, wanted, latest + 1)
                self.create(server, obj, self._sets_path(obj), manifest)
            return
        if _revision_number(sets[wanted]) < latest:  # a rollback
            self._write_revision(server, f"{self._sets_path(obj)}/{wanted}", latest + 1)
            return
        if _revision_number(obj) != latest:
            # Through the status, as the real controller: this does not increase the generation.
            self._write_revision(server, f"{self.path(obj)}/status", latest)
            return
        if sets[wanted]["spec"].get("replicas") != replicas:
            self._scale(server, sets[wanted], replicas)
        up = _status(sets[wanted], "availableReplicas") >= replicas
        for name, one in sets.items():
            if name != wanted and up and one["spec"].get("replicas"):
                self._scale(server, one, 0)
        self.write_status(server, obj, self._status(server, obj, sets, wanted))

    def _is_recreated(self, server: ServerAccess, obj: Json, sets: dict[str, Json]) -> bool:
        """Whether the new ReplicaSet may come; with ``Recreate``, the old pods go first."""
        if (obj["spec"].get("strategy") or {}).get("type") != "Recreate":
            return True
        for one in sets.values():
            if one["spec"].get("replicas"):
                self._scale(server, one, 0)
        return not any(_status(one, "replicas") for one in sets.values())

    def _sets_path(self, obj: Json) -> str:
        return f"/apis/apps/v1/namespaces/{obj['metadata']['namespace']}/replicasets"

    def _scale(self, server: ServerAccess, one: Json, replicas: int) -> None:
        patch(server, f"{self._sets_path(one)}/{name_of(one)}", {"spec": {"replicas": replicas}})

    def _write_revision(self, server: ServerAccess, path: str, revision: int) -> None:
        patch(server, path, {"metadata": {"annotations": {_REVISION: str(revision)}}})

    def _replica_set(self, obj: Json, name: str, revision: int) -> Json:
        template, digest = obj["spec"]["template"], name.rpartition("-")[2]
        labels = {**(template.get("metadata") or {}).get("labels", {}), _HASH: digest}
        selector = {**(obj["spec"]["selector"].get("matchLabels") or {}), _HASH: digest}
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": {_REVISION: str(revision)},
                "ownerReferences": [self.owner_reference(obj)],
            },
            "spec": {
                "replicas": obj["spec"].get("replicas", 1),
                "selector": {**obj["spec"]["selector"], "matchLabels": selector},
                "template": {
                    **template,
                    "metadata": {**(template.get("metadata") or {}), "labels": labels},
                },
            },
        }

    def _status(self, server: ServerAccess, obj: Json, sets: dict[str, Json], wanted: str) -> Json:
        replicas = obj["spec"].get("replicas", 1)
        available = sum(_status(one, "availableReplicas") for one in sets.values())
        updated = _status(sets[wanted], "replicas")
        complete = updated >= replicas and available >= replicas
        counts = {
            "replicas": sum(_status(one, "replicas") for one in sets.values()),
            "updatedReplicas": updated,
            "readyReplicas": sum(_status(one, "readyReplicas") for one in sets.values()),
            "availableReplicas": available,
            "unavailableReplicas": max(replicas - available, 0),
        }
        now = write_time(server.core.environment.now())
        enough = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        lacking = (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
        done = (
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{wanted}" has successfully progressed.',
        )
        busy = ("True", "ReplicaSetUpdated", f'ReplicaSet "{wanted}" is progressing.')
        return {
            "observedGeneration": generation_of(obj),
            **{field: count or None for field, count in counts.items()},
            "conditions": [
                _condition(obj, now, "Available", enough if available >= replicas else lacking),
                _condition(obj, now, "Progressing", done if complete else busy),
            ],
        }


class ReplicaSets(Follower):
    """Creates and deletes pods until their number is as specified."""

    resource, kind, api_version = "replicasets.apps", "ReplicaSet", "apps/v1"

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Create missing pods, delete surplus ones, and write the status."""
        if is_deleting(obj):
            return
        pods = [pod for pod in self.adopted(server, obj, "pods") if not is_deleting(pod)]
        wanted, refusal = obj["spec"].get("replicas", 1), ""
        for _ in range(wanted - len(pods)):
            pod = pod_of(
                obj,
                obj["spec"]["template"],
                self.owner_reference(obj),
                generateName=f"{name_of(obj)}-",
            )
            refusal = self.create(server, obj, pods_path(obj), pod)
            if refusal:
                break
        for pod in sorted(pods, key=is_pod_ready)[: max(len(pods) - wanted, 0)]:
            delete(server, f"{pods_path(obj)}/{name_of(pod)}", uid_of(pod))
        ready = sum(map(is_pod_ready, pods))
        self.write_status(
            server,
            obj,
            {
                "observedGeneration": generation_of(obj),
                "replicas": len(pods),
                "fullyLabeledReplicas": len(pods) or None,
                "readyReplicas": ready or None,
                "availableReplicas": ready or None,
                **_replica_failure(server, obj, refusal),
            },
        )


class StatefulSets(Follower):
    """Creates pods with stable names, in order."""

    resource, kind, api_version = "statefulsets.apps", "StatefulSet", "apps/v1"

    def reconcile(self, server: ServerAccess, obj: Json) -> None:
        """Create or replace the first pod that needs it, if the pods before it are ready."""
        if is_deleting(obj):
            return
        revision = f"{name_of(obj)}-{template_hash(obj['spec']['template'])}"
        pods = {name_of(pod): pod for pod in self.children(server, obj, "pods")}
        wanted = [f"{name_of(obj)}-{ordinal}" for ordinal in range(obj["spec"].get("replicas", 1))]
        self._replace(server, obj, pods, wanted, revision)
        ready = [name for name in wanted if name in pods and is_pod_ready(pods[name])]
        updated = [name for name in ready if _revision(pods[name]) == revision]
        current = revision if len(updated) == len(wanted) else _status_text(obj, revision)
        self.write_status(
            server,
            obj,
            {
                "observedGeneration": generation_of(obj),
                "replicas": len(pods),
                "readyReplicas": len(ready) or None,
                "availableReplicas": len(ready),
                "currentReplicas": len(pods) or None,
                "updatedReplicas": len(updated) or None,
                "currentRevision": current,
                "updateRevision": revision,
                "collisionCount": 0,
            },
        )

    def _replace(
        self,
        server: ServerAccess,
        obj: Json,
        pods: dict[str, Json],
        wanted: list[str],
        revision: str,
    ) -> None:
        for name in [name for name in pods if name not in wanted]:
            if not is_deleting(pods[name]):
                delete(server, f"{pods_path(obj)}/{name}", uid_of(pods[name]))
        for name in wanted:
            pod = pods.get(name)
            if pod is None:
                template = obj["spec"]["template"]
                labels = (template.get("metadata") or {}).get("labels") or {}
                labels = {**labels, "controller-revision-hash": revision}
                reference = self.owner_reference(obj)
                pod = pod_of(obj, template, reference, name=name, labels=labels)
                self.create(server, obj, pods_path(obj), pod)
                return
            if _revision(pod) != revision and not is_deleting(pod):
                delete(server, f"{pods_path(obj)}/{name}", uid_of(pod))
                return
            if not is_pod_ready(pod):
                return


def _current_set(obj: Json, sets: dict[str, Json]) -> str:
    """Return the name of the ReplicaSet with the template of a Deployment, existing or not."""
    digest = template_hash(obj["spec"]["template"])
    name = f"{name_of(obj)}-{digest}"
    if name in sets:
        return name
    same = (known for known, one in sets.items() if _plain_hash(one["spec"]["template"]) == digest)
    return next(same, name)


def _plain_hash(template: Json) -> str:
    """Return the hash of a template without the label that a Deployment adds."""
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != _HASH}
    return template_hash({**template, "metadata": {**meta, "labels": labels}})


def _replica_failure(server: ServerAccess, obj: Json, refusal: str) -> Json:
    """Return the condition of a ReplicaSet whose pods are refused, or that it is gone."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    if refusal:
        now = write_time(server.core.environment.now())
        said = ("True", "FailedCreate", refusal)
        failed = _condition(obj, now, "ReplicaFailure", said)
        return {"conditions": [{key: failed[key] for key in failed if key != "lastUpdateTime"}]}
    return {"conditions": None} if conditions else {}


def template_hash(template: Json) -> str:
    """Return a hash of a template that does not depend on the order of fields."""
    return _hash_of(orjson.dumps(template))


@lru_cache(maxsize=1024)
def _hash_of(template: bytes) -> str:
    return blake2b(to_json(orjson.loads(template)).encode(), digest_size=5).hexdigest()


def _revision_number(obj: Json) -> int:
    written = annotations_of(obj).get(_REVISION, "")
    return read_int(written) if written.isdecimal() else 0


def _status(obj: Json, field: str) -> int:
    return int((obj.get("status") or {}).get(field) or 0)


def _status_text(obj: Json, default: str) -> str:
    return str((obj.get("status") or {}).get("currentRevision") or default)


def _revision(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get("controller-revision-hash"))


def _condition(obj: Json, now: str, kind: str, said: tuple[str, str, str]) -> Json:
    """Return a condition from (status, reason, message); an unchanged one keeps its times."""
    status, reason, message = said
    for old in (obj.get("status") or {}).get("conditions") or ():
        if (old["type"], old["status"], old["reason"]) == (kind, status, reason):
            return dict(old)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
        "lastUpdateTime": now,
    }

"""The behaviour of each built-in kind in the request pipelines: tables, and one strategy class."""

from collections.abc import Mapping
from functools import cached_property

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin import conversion, field_selectors, preparing, validation
from myrmidon.apiserver.builtin.decoding import decode, empty, forget_empty
from myrmidon.apiserver.builtin.lookup import ObjectLookup
from myrmidon.apiserver.builtin.preparing.pods import update_ephemeral
from myrmidon.apiserver.builtin.scalars import DecodingError
from myrmidon.apiserver.builtin.validation import CreateRule
from myrmidon.apiserver.catalog.resources import BuiltinResource
from myrmidon.apiserver.catalog.types import GoType, schema_of
from myrmidon.apiserver.refusals import names
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.resources.generation import grow_generation, start_generation
from myrmidon.apiserver.resources.strategy import Decoded, DecodeError, Strategy

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_FLOW = "flowcontrol.apiserver.k8s.io"

# Kinds that a PUT creates if they do not exist.
_CREATED_BY_UPDATE = frozenset({
    ("", "Endpoints"), ("", "Event"), ("events.k8s.io", "Event"), ("", "LimitRange"), ("", "Service"),
    ("coordination.k8s.io", "Lease"), ("node.k8s.io", "RuntimeClass"),
    (_RBAC, "Role"), (_RBAC, "ClusterRole"), (_RBAC, "RoleBinding"), (_RBAC, "ClusterRoleBinding"),
})  # fmt: skip

# Kinds whose updates must include a resourceVersion.
_CONDITIONAL = frozenset({
    ("apiextensions.k8s.io", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"),
    ("coordination.k8s.io", "Lease"), ("node.k8s.io", "RuntimeClass"), ("policy", "PodDisruptionBudget"),
    ("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "CSIStorageCapacity"),
    ("storage.k8s.io", "VolumeAttachment"), ("storage.k8s.io", "CSINode"),
    *((_ADMISSION, kind) for kind in (
        "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration", "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicyBinding",
    )),
})  # fmt: skip

# Kinds with a generation, and the fields whose changes increase it.
_SPEC = ("spec",)
_COUNTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): _SPEC,
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): _SPEC,
    ("apps", "DaemonSet"): _SPEC,
    ("apps", "Deployment"): _SPEC,
    ("apps", "ReplicaSet"): _SPEC,
    ("apps", "StatefulSet"): _SPEC,
    ("batch", "CronJob"): _SPEC,
    ("batch", "Job"): _SPEC,
    ("networking.k8s.io", "Ingress"): _SPEC,
    ("networking.k8s.io", "IngressClass"): _SPEC,
    ("networking.k8s.io", "NetworkPolicy"): _SPEC,
    ("discovery.k8s.io", "EndpointSlice"): ("addressType", "endpoints", "ports"),
    ("policy", "PodDisruptionBudget"): _SPEC,
    ("scheduling.k8s.io", "PriorityClass"): (),
    ("resource.k8s.io", "ResourceSlice"): _SPEC,
    ("resource.k8s.io", "DeviceClass"): _SPEC,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _SPEC,
    (_FLOW, "FlowSchema"): _SPEC,
    (_FLOW, "PriorityLevelConfiguration"): _SPEC,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _SPEC,
    (_ADMISSION, "MutatingAdmissionPolicy"): _SPEC,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _SPEC,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _SPEC,
    (_ADMISSION, "MutatingWebhookConfiguration"): ("webhooks",),
    (_ADMISSION, "ValidatingWebhookConfiguration"): ("webhooks",),
}

# Kinds whose metadata cannot change through the status subresource.
_STATUS_WITHOUT_METADATA = frozenset({
    (_FLOW, "FlowSchema"), (_FLOW, "PriorityLevelConfiguration"),
    ("networking.k8s.io", "ServiceCIDR"), ("resource.k8s.io", "ResourceClaim"),
    ("storage.k8s.io", "VolumeAttachment"), (_ADMISSION, "ValidatingAdmissionPolicy"),
})  # fmt: skip

_STATUS_KEPT_ON_CREATE = frozenset({("", "Node")})
_NAMED_BY_LABEL = frozenset({("", "Namespace"), ("", "Service"), ("apps", "StatefulSet")})
_DEFAULT_GRACE_SECONDS = 30

# Kinds whose DELETE returns the deleted object instead of a Status.
_ANSWERED_WHEN_GONE = {
    ("", kind)
    for kind in (
        "Pod", "PodTemplate", "Namespace", "PersistentVolume", "PersistentVolumeClaim",
        "ResourceQuota", "Service", "ServiceAccount",
    )
}  # fmt: skip
# Kinds whose contents a controller deletes first.  Their deletion does not increase the generation.
_MARKED_PLAINLY = {
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
}


class BuiltinStrategy(Strategy):
    """The strategy of one built-in kind, without field ownership and tables."""

    def __init__(self, resource: BuiltinResource, cluster: ObjectLookup) -> None:
        self._resource = resource
        self._cluster = cluster
        self._kind = resource.kind
        self._key = key = (resource.kind.group, resource.kind.kind)
        self._has_status = resource.subresource("status") is not None
        self.creates_on_update = key in _CREATED_BY_UPDATE
        self.allows_unconditional_update = key not in _CONDITIONAL
        self.deletes_gracefully = key not in _MARKED_PLAINLY
        self.answers_deleted_object = key in _ANSWERED_WHEN_GONE
        self.collects_garbage = key not in {("", "Event"), ("events.k8s.io", "Event")}

    @cached_property
    def schema(self) -> GoType:
        """The type of the objects, compiled on first use."""
        return schema_of(self._kind)

    def decode(self, body: Json) -> Decoded:
        """Decode an object and fill in its defaults."""
        try:
            obj, unknown = decode(body, self.schema)
        except DecodingError as error:
            raise DecodeError(str(error)) from None
        obj["apiVersion"], obj["kind"] = self._kind.api_version, self._kind.kind
        return Decoded(obj, unknown)

    def prepare_create(self, obj: Json) -> None:
        """Reset the status, set the generation, and apply the preparation of the kind."""
        forget_empty(obj, self.schema)
        if self._has_status and self._key not in _STATUS_KEPT_ON_CREATE:
            self._reset_status(obj)
        if self._key in _COUNTED:
            start_generation(obj)
        prepare = preparing.ON_CREATE.get(self._key)
        if prepare is not None:
            prepare(obj, self._cluster)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Restore the fields that the request may not change, and increase the generation."""
        forget_empty(obj, self.schema)
        if subresource == "status":
            self._prepare_status(obj, old)
            return
        if self._has_status and "status" in old:
            obj["status"] = old["status"]
        if subresource == "finalize":
            return
        if subresource == "ephemeralcontainers":
            update_ephemeral(obj, old)
        prepare = preparing.ON_UPDATE.get(self._key)
        if prepare is not None:
            prepare(obj, old, self._cluster)
        if self._key in _COUNTED and self._counts(obj, old):
            grow_generation(obj, old)

    def _counts(self, obj: Json, old: Json) -> bool:
        if any(obj.get(field) != old.get(field) for field in _COUNTED[self._key]):
            return True
        new_meta, old_meta = obj["metadata"], old["metadata"]
        if self._key == ("apps", "Deployment"):
            return bool(new_meta.get("annotations", {}) != old_meta.get("annotations", {}))
        if self._key == ("discovery.k8s.io", "EndpointSlice"):
            return bool(new_meta.get("labels", {}) != old_meta.get("labels", {}))
        return False

    def _prepare_status(self, obj: Json, old: Json) -> None:
        for field in [field for field in obj if field not in ("status", "metadata")]:
            del obj[field]
        obj.update({key: value for key, value in old.items() if key not in ("status", "metadata")})
        if "status" not in obj:
            self._reset_status(obj)
        if self._key in _STATUS_WITHOUT_METADATA:
            fields = obj["metadata"].get("managedFields")
            version = obj["metadata"].get("resourceVersion")
            obj["metadata"] = dict(old["metadata"])
            for field, value in (("managedFields", fields), ("resourceVersion", version)):
                if value is not None:
                    obj["metadata"][field] = value
        prepare = preparing.ON_STATUS.get(self._key)
        if prepare is not None:
            prepare(obj, old, self._cluster)

    def _reset_status(self, obj: Json) -> None:
        """Set an empty status; drop it for kinds that have none until a controller reports one."""
        status = self.schema.properties.get("status")
        assert isinstance(status, GoType)
        if "status" in self.schema.structs:
            obj["status"] = empty(status)
        else:
            obj.pop("status", None)

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Return the errors of a new object."""
        obj = self._as_stored(obj)
        first = self._causes(validation.FIRST_RULES, obj) or self._cluster_causes(obj)
        if first:
            return first  # the real server allocates addresses before other validation
        causes = self._own_causes(obj)
        creation = validation.CREATE_RULES.get(self._key)
        if creation is not None:
            causes += creation(obj)
        return causes

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Return the errors of an update."""
        obj, old = self._as_stored(obj), self._as_stored(old)
        if subresource == "status":
            status = validation.STATUS_RULES.get(self._key)
            return list(status(obj)) if status is not None else []
        other = validation.SUBRESOURCE_RULES.get(subresource)
        if other is not None:
            return list(other(obj, old))
        first = self._causes(validation.FIRST_RULES, obj)
        if first:
            return first
        causes = self._own_causes(obj)
        change = validation.UPDATE_RULES.get(self._key)
        if change is not None:
            causes += change(obj, old)
        return causes or self._cluster_causes(obj)

    def _own_causes(self, obj: Json) -> list[StatusCause]:
        return self._causes(validation.RULES, obj)

    def _causes(self, table: Mapping[tuple[str, str], CreateRule], obj: Json) -> list[StatusCause]:
        rules = table.get(self._key)
        return list(rules(obj)) if rules is not None else []

    def _cluster_causes(self, obj: Json) -> list[StatusCause]:
        rules = validation.CLUSTER_RULES.get(self._key)
        return list(rules(obj, self._cluster)) if rules is not None else []

    def _as_stored(self, obj: Json) -> Json:
        """Return the object in its storage version, for which the rules are written."""
        return self.store(obj)

    def grace_seconds(self, obj: Json, wanted: int | None) -> int | None:
        """Return the grace period of a deletion; None for kinds other than Pod.

        A pod on a node is kept until its grace period is over.
        """
        if self._key != ("", "Pod"):
            return None
        spec, status = obj["spec"], obj.get("status", {})
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            return 0
        own = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS)
        chosen = own if wanted is None else wanted
        return 1 if chosen < 0 else int(chosen)

    def is_held(self, obj: Json) -> bool:
        """Whether a deleted namespace must be kept, because it has not been emptied yet."""
        return self._key == ("", "Namespace") and bool(obj["spec"].get("finalizers"))

    def mark_deleting(self, obj: Json, timestamp: str) -> None:  # noqa: ARG002 - other strategies use it
        """Set the phase of a deleted namespace to Terminating."""
        if self._key == ("", "Namespace"):
            obj["status"] = obj.get("status", {}) | {"phase": "Terminating"}

    def name_problems(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return the problems of a name.  For most kinds it must be a DNS subdomain."""
        if self._key in _NAMED_BY_LABEL:
            return names.label_problems(name, prefix=prefix)
        if self._kind.group == _RBAC:
            return names.path_segment_problems(name, prefix=prefix)
        if self._kind.kind == "Event":
            return []
        if self._key == ("networking.k8s.io", "IPAddress"):
            return names.address_problems(name)
        return names.subdomain_problems(name, prefix=prefix)

    def read(self, value: Json) -> Json:
        """Convert a stored object to this version."""
        match self._kind[:3]:
            case ("events.k8s.io", _, "Event"):
                return conversion.event_from_core(value)
            case ("autoscaling", "v1", "HorizontalPodAutoscaler"):
                return conversion.autoscaler_from_v2(value)
            case _:
                return value

    def store(self, obj: Json) -> Json:
        """Convert an object of this version to the storage version."""
        match self._kind[:3]:
            case ("events.k8s.io", _, "Event"):
                return conversion.event_to_core(obj)
            case ("autoscaling", "v1", "HorizontalPodAutoscaler"):
                return conversion.autoscaler_to_v2(obj)
            case _:
                return obj

    def fields(self, obj: Json) -> Mapping[str, str]:
        """Return the values of the fields that field selectors support."""
        return field_selectors.field_values(self._kind.group, self._kind.kind, obj)

    def selectable(self, label: str) -> bool:
        """Whether field selectors support a field."""
        return label in field_selectors.selectable_fields(self._kind.group, self._kind.kind)

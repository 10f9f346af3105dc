"""The strategy of built-in kinds, with field ownership and tables."""

from functools import cached_property

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.base_strategy import BuiltinStrategy
from myrmidon.apiserver.builtin.warnings import warnings_of
from myrmidon.apiserver.fields.blanks import blank_of
from myrmidon.apiserver.fields.resets import builtin_reset_fields
from myrmidon.apiserver.fields.versions import ResetFields
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.resources.metadata import FOREGROUND, ORPHAN
from myrmidon.apiserver.resources.strategy import Decoded
from myrmidon.apiserver.resources.tables import Layout

# Groups that other servers inside kube-apiserver serve, with validation of their own.
_OTHER_SERVERS = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
_JOB, _CONTROLLER = ("batch", "Job"), ("", "ReplicationController")
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
    "remove them or set propagationPolicy=Orphan to suppress this warning"
)


class KindStrategy(BuiltinStrategy):
    """The strategy of a built-in kind, with field ownership and tables."""

    @property
    def orphans_by_default(self) -> bool:  # type: ignore[override]
        """Whether a delete without a propagation policy orphans the dependents.

        This holds for the two kinds that are older than the garbage collector.
        """
        return self._key in {_JOB, _CONTROLLER}

    def delete_warnings(self, policy: str) -> list[str]:
        """Return a warning if a Job is deleted without a propagation policy: its pods are kept."""
        return [_PODS_STAY] if self._key == _JOB and not policy else []

    @cached_property
    def layout(self) -> Layout:
        """The columns that the real server prints."""
        from myrmidon.apiserver.builtin.tables import BuiltinLayout  # noqa: PLC0415 - only kubectl needs it

        return BuiltinLayout(self._kind)

    def decode(self, body: Json) -> Decoded:
        """Decode the body, and keep an empty list of managedFields: it resets the ownership."""
        decoded = super().decode(body)
        meta = body.get("metadata")
        if isinstance(meta, dict) and meta.get("managedFields") == []:
            decoded.obj["metadata"]["managedFields"] = []
        return decoded

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Return the errors of a new object, including finalizers without a domain.

        For custom resources, such finalizers only cause a warning.
        """
        return [*self._finalizer_causes(obj), *super().validate_create(obj)]

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Return the errors of an update, including finalizers without a domain."""
        causes = super().validate_update(obj, old, subresource)
        return causes if subresource else [*self._finalizer_causes(obj), *causes]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Return warnings about deprecated fields and probable mistakes."""
        return warnings_of(self._key, obj, old)

    def _finalizer_causes(self, obj: Json) -> list[StatusCause]:
        if self._kind.group in _OTHER_SERVERS:
            return []
        problem = "name is neither a standard finalizer name nor is it fully qualified"
        return [
            invalid(f"metadata.finalizers[{index}]", name, problem)
            for index, name in enumerate(obj["metadata"].get("finalizers", ()))
            if "/" not in name and name not in {ORPHAN, FOREGROUND, "kubernetes"}
        ]

    def reset_fields(self, subresource: str) -> ResetFields:
        """Return the fields that a write through this path cannot change, such as the status."""
        return builtin_reset_fields(self._kind, subresource, has_status=self._has_status)

    def blank(self) -> Json:
        """Return the empty structs of the kind, which every object has and no manager owns."""
        return blank_of(self.schema, self._kind.api_version, self._kind.kind)

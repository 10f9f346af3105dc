"""The strategy of built-in kinds: decoding, validation, field ownership, tables."""

from functools import cached_property

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.base_strategy import BuiltinStrategy
from myrmidon.apiserver.causes import invalid
from myrmidon.apiserver.failures import StatusCause
from myrmidon.apiserver.fields.blanks import blank_of
from myrmidon.apiserver.fields.resets import builtin_reset_fields
from myrmidon.apiserver.fields.versions import ResetFields
from myrmidon.apiserver.resources.metadata import FOREGROUND, ORPHAN
from myrmidon.apiserver.resources.strategy import Decoded
from myrmidon.apiserver.resources.tables import Layout

# Groups that the real server takes from elsewhere, with rules of their own.
_OTHER_SERVERS = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
_JOB, _CONTROLLER = ("batch", "Job"), ("", "ReplicationController")
_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
    "remove them or set propagationPolicy=Orphan to suppress this warning"
)


class KindStrategy(BuiltinStrategy):
    """A built-in kind with owners of fields."""

    @property
    def orphans_by_default(self) -> bool:  # type: ignore[override]
        """Whether a delete without a policy orphans the dependents.

        Only for the two kinds that are older than the garbage collector.
        """
        return self._key in {_JOB, _CONTROLLER}

    def delete_warnings(self, policy: str) -> list[str]:
        """Warn if a Job is deleted without a policy: its pods stay."""
        return [_PODS_STAY] if self._key == _JOB and not policy else []

    @cached_property
    def layout(self) -> Layout:
        """The columns that the real server shows."""
        from myrmidon.apiserver.builtin.tables import BuiltinLayout  # noqa: PLC0415 - for kubectl alone

        return BuiltinLayout(self._kind)

    def decode(self, body: Json) -> Decoded:
        """Decode the body; an empty list of managedFields is kept, because it asks to clear them."""
        decoded = super().decode(body)
        meta = body.get("metadata")
        if isinstance(meta, dict) and meta.get("managedFields") == []:
            decoded.obj["metadata"]["managedFields"] = []
        return decoded

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Apply the rules of the kind, and one for finalizers that is only a warning for custom resources."""
        return [*self._finalizer_causes(obj), *super().validate_create(obj)]

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Apply the rules for an update."""
        causes = super().validate_update(obj, old, subresource)
        return causes if subresource else [*self._finalizer_causes(obj), *causes]

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
        """Return the empty structs of the kind, which exist in every object and have no owner."""
        return blank_of(self.schema, self._kind.api_version, self._kind.kind)

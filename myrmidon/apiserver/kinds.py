"""Built-in kinds in the server: what field ownership has to know about them."""

from functools import cached_property

from myrmidon.api.objects import Json
from myrmidon.apiserver.builtin.strategies import BuiltinStrategy
from myrmidon.apiserver.fields.blanks import blank_of
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields, resetting
from myrmidon.apiserver.strategy import Decoded
from myrmidon.apiserver.tables import Layout

_STATUS = resetting("status")
_SPEC = resetting("spec")
# What the status of a kind has no say in, where it is more than the spec.
_STATUS_RESETS = {
    ("apps", "Deployment"): resetting("spec", "metadata.labels"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): resetting("spec", "metadata"),
    ("", "Pod"): resetting("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
}


class KindStrategy(BuiltinStrategy):
    """A built-in kind with owners of fields."""

    @cached_property
    def layout(self) -> Layout:
        """The columns that the real server shows."""
        from myrmidon.apiserver.builtin.tables import BuiltinLayout  # noqa: PLC0415 - for kubectl alone

        return BuiltinLayout(self._kind)

    def decode(self, body: Json) -> Decoded:
        """An empty list of managedFields is an order to clear them, so it is kept."""
        decoded = super().decode(body)
        meta = body.get("metadata")
        if isinstance(meta, dict) and meta.get("managedFields") == []:
            decoded.obj["metadata"]["managedFields"] = []
        return decoded

    def reset_fields(self, subresource: str) -> ResetFields:
        """Status and the rest are written through different paths."""
        if subresource == "status":
            return _STATUS_RESETS.get(self._key, _SPEC)
        return _STATUS if self._has_status else NO_RESET

    def blank(self) -> Json:
        """The structs of the kind, which are there from the start and are nobody's."""
        return blank_of(self.schema, self._kind.api_version, self._kind.kind)

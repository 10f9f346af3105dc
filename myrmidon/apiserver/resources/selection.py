"""A selection of objects: a label selector, a field selector and ranges of a hash (shards)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.selectors import Selector
from myrmidon.api.requests.shard_selectors import ShardRange
from myrmidon.apiserver.resources.registry import ResourceType


class FieldTerm(NamedTuple):
    """One comparison of a field selector."""

    field: str
    equal: bool
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the comparison holds; a missing field counts as empty."""
        return (fields.get(self.field, "") == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selection:
    """A label selector, a field selector and shard ranges; an object must match all of them.

    It matches the shards if it is in one of the ranges, or if there are none.
    """

    labels: Selector
    fields: tuple[FieldTerm, ...]
    shards: tuple[ShardRange, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether the selection matches every object."""
        return not self.labels and not self.fields and not self.shards

    @property
    def counts_the_rest(self) -> bool:
        """Whether a page says how many objects follow; the real server does not regard shards here."""
        return not self.labels and not self.fields

    def matches(self, resource_type: ResourceType, obj: Json) -> bool:
        """Whether the object matches the selectors and is in one of the shards."""
        meta = obj["metadata"]
        if self.shards and not self._is_in_shards(meta):
            return False
        if self.labels and not self.labels.matches(meta.get("labels") or {}):
            return False
        if not self.fields:
            return True
        fields = {
            **resource_type.strategy.fields(obj),
            "metadata.name": meta.get("name", ""),
            "metadata.namespace": meta.get("namespace", ""),
        }
        return all(term.matches(fields) for term in self.fields)

    def _is_in_shards(self, meta: Json) -> bool:
        value = meta.get(self.shards[0].field) or ""  # all ranges have the same field
        return any(shard.covers(value) for shard in self.shards)

    def name(self) -> str:
        """Return the name that the field selector requires, or ``""``."""
        for term in self.fields:
            if term.field == "metadata.name" and term.equal:
                return term.value
        return ""


EVERYTHING = Selection(Selector(), ())

"""A selection of objects: a label selector and a field selector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.selectors import Selector
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
    """A label selector and a field selector; an object must match both."""

    labels: Selector
    fields: tuple[FieldTerm, ...]

    @property
    def is_everything(self) -> bool:
        """Whether the selection matches every object."""
        return not self.labels and not self.fields

    def matches(self, resource_type: ResourceType, obj: Json) -> bool:
        """Whether the object matches both selectors."""
        meta = obj["metadata"]
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

    def name(self) -> str:
        """Return the name that the field selector requires, or ``""``."""
        for term in self.fields:
            if term.field == "metadata.name" and term.equal:
                return term.value
        return ""


EVERYTHING = Selection(Selector(), ())

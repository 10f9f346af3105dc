"""Custom resources: what a CustomResourceDefinition makes of their objects."""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.apiserver.causes import invalid
from myrmidon.apiserver.encoding import same
from myrmidon.apiserver.failures import Cause
from myrmidon.apiserver.metadata import decode_metadata
from myrmidon.apiserver.schema.types import Schema
from myrmidon.apiserver.strategy import Decoded, Strategy


class CustomStrategy(Strategy):
    """One version of a custom resource."""

    allows_unconditional_update = False

    def __init__(
        self,
        *,
        api_version: str,
        kind: str,
        schema: Schema,
        storage_api_version: str,
        storage_schema: Schema,
        status: bool,
        selectable: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._api_version, self._kind = api_version, kind
        self._schema, self._storage_schema = schema, storage_schema
        self._storage_api_version = storage_api_version
        self._status = status
        self._selectable = selectable

    # ------------------------------------------------------------------------- reading

    def decode(self, body: Json) -> Decoded:
        """Typed metadata; the rest as the schema knows it."""
        meta, unknown = decode_metadata(body.get("metadata"))
        return Decoded({**body, "metadata": meta}, unknown)

    def read(self, value: Json) -> Json:
        """What is stored, as the storage version's schema has it by now, under this version."""
        return {**value, "apiVersion": self._api_version}

    def store(self, obj: Json) -> Json:
        """Versions differ by name alone."""
        obj["apiVersion"] = self._storage_api_version
        return obj

    # ------------------------------------------------------------------------- writing

    def prepare_create(self, obj: Json) -> None:
        """A new object has no status yet, and the first generation."""
        if self._status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Status and the rest are written through different paths; changes of the rest count."""
        if subresource == "status":
            status = obj.get("status")
            meta, version = old["metadata"], obj["metadata"].get("resourceVersion")
            managed = obj["metadata"].get("managedFields")
            obj.clear()
            obj.update(old, metadata=dict(meta))
            _set(obj["metadata"], "managedFields", managed)
            _set(obj["metadata"], "resourceVersion", version)
            _set(obj, "status", status)
            return
        if self._status:
            _set(obj, "status", old.get("status"))
        ignored = {"metadata", "status"} if self._status else {"metadata"}
        generation = old["metadata"].get("generation", 0)
        if not same(_without(obj, ignored), _without(old, ignored)):
            generation += 1
        obj["metadata"]["generation"] = generation

    def validate_create(self, obj: Json) -> list[Cause]:
        """The schema's rules."""
        return self._type_causes(obj)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[Cause]:
        """The schema's rules, with what was wrong before let through."""
        return self._type_causes(obj)

    def _type_causes(self, obj: Json) -> list[Cause]:
        if obj.get("kind") == self._kind:
            return []
        return [invalid("kind", obj.get("kind"), f"must be {self._kind}")]

    # ------------------------------------------------------------------------- selecting

    def selectable(self, label: str) -> bool:
        """The fields that the definition lists."""
        return label in self._selectable

    def fields(self, obj: Json) -> Mapping[str, str]:
        """Their values as texts; an absent one is empty."""
        return {label: _text_at(obj, path) for label, path in self._selectable.items()}


def _set(target: Json, key: str, value: Any) -> None:
    if value is None:
        target.pop(key, None)
    else:
        target[key] = value


def _without(obj: Json, keys: set[str]) -> Json:
    return {key: value for key, value in obj.items() if key not in keys}


def _text_at(obj: Any, path: tuple[str, ...]) -> str:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    return str(obj).lower() if isinstance(obj, bool) else str(obj)

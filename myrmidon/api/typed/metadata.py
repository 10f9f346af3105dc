"""The attributes of every typed resource that read ``metadata``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.frozen import frozen
from myrmidon.api.values.timestamps import read_time


class HasMetadata:
    """Typed, read-only views of ``metadata``.  A list or map that is absent reads as empty."""

    __slots__ = ("_metadata",)

    _metadata: Json

    def _refuse_if_read(self, part: str) -> None:
        """Raise if the object came from a server."""
        raise NotImplementedError

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata as JSON, read only."""
        return cast("Mapping[str, Any]", frozen(self._metadata, "obj.metadata"))

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return cast("str", self._metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """``metadata.namespace``, ``""`` for cluster-scoped objects."""
        return cast("str", self._metadata.get("namespace") or "")

    @property
    def uid(self) -> str:
        """``metadata.uid``, ``""`` for an object that no server has seen."""
        return cast("str", self._metadata.get("uid") or "")

    @property
    def resource_version(self) -> str:
        """``metadata.resourceVersion``, ``""`` for an object that no server has seen."""
        return cast("str", self._metadata.get("resourceVersion") or "")

    @resource_version.setter
    def resource_version(self, value: str) -> None:
        self._refuse_if_read("resource_version")
        self._metadata["resourceVersion"] = value

    @property
    def generation(self) -> int:
        """``metadata.generation``, 0 for an object that no server has seen."""
        return cast("int", self._metadata.get("generation") or 0)

    @property
    def labels(self) -> Mapping[str, str]:
        """``metadata.labels``."""
        return self._frozen_map("labels")

    @labels.setter
    def labels(self, value: Mapping[str, str]) -> None:
        self._refuse_if_read("labels")
        self._metadata["labels"] = dict(value)

    @property
    def annotations(self) -> Mapping[str, str]:
        """``metadata.annotations``."""
        return self._frozen_map("annotations")

    @annotations.setter
    def annotations(self, value: Mapping[str, str]) -> None:
        self._refuse_if_read("annotations")
        self._metadata["annotations"] = dict(value)

    @property
    def finalizers(self) -> Sequence[str]:
        """``metadata.finalizers``."""
        return self._frozen_list("finalizers")

    @finalizers.setter
    def finalizers(self, value: Sequence[str]) -> None:
        self._refuse_if_read("finalizers")
        self._metadata["finalizers"] = list(value)

    @property
    def owner_references(self) -> Sequence[Json]:
        """``metadata.ownerReferences``."""
        return self._frozen_list("ownerReferences")

    @owner_references.setter
    def owner_references(self, value: Sequence[Json]) -> None:
        self._refuse_if_read("owner_references")
        self._metadata["ownerReferences"] = [dict(owner) for owner in value]

    @property
    def creation_timestamp(self) -> datetime | None:
        """When the object was created."""
        return _time(self._metadata.get("creationTimestamp"))

    @property
    def deletion_timestamp(self) -> datetime | None:
        """``metadata.deletionTimestamp``; None unless the object is being deleted."""
        return _time(self._metadata.get("deletionTimestamp"))

    @property
    def is_deleting(self) -> bool:
        """Whether the object is being deleted: it exists only until its finalizers are removed."""
        return bool(self._metadata.get("deletionTimestamp"))

    def _frozen_map(self, key: str) -> Mapping[str, str]:
        return cast("Mapping[str, str]", frozen(self._metadata.get(key) or {}, f"obj.{key}"))

    def _frozen_list(self, key: str) -> Sequence[Any]:
        return cast("Sequence[Any]", frozen(self._metadata.get(key) or [], f"obj.{key}"))


def _time(value: Any) -> datetime | None:
    return read_time(value) if isinstance(value, str) and value else None

"""World: the objects of the server as predicates see them, read-only.

    sim.always("the volume stays", lambda world: world.exists("PVC", "data-shop-0"))

``kind`` may be the name of a kind, its plural or a short name (``"PersistentVolumeClaim"``, ``"pvc"``,
``"PVC"``), a ``Kind``, a Resource class or a kubernetes-asyncio model.  Objects are those of the store
itself: a predicate must not change them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.objects.conditions import READY, find
from myrmidon.api.typed.object_types import kind_of
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import UsageError

if TYPE_CHECKING:
    from myrmidon.testing.faults.external_stand_in import ExternalStandIn


class World:
    """The objects of the server, and the external systems, at this moment."""

    def __init__(
        self, server: ApiServer, namespace: str, externals: Mapping[str, "ExternalStandIn"]
    ) -> None:
        self._server, self._namespace = server, namespace
        self.externals = externals
        self._found: dict[Any, ResourceType] = {}

    def exists(self, kind: Any, name: str, namespace: str | None = None) -> bool:
        """Whether there is an object of that name, being deleted or not."""
        return self.get(kind, name, namespace) is not None

    def get(self, kind: Any, name: str, namespace: str | None = None) -> Json | None:
        """Return an object, None if it does not exist."""
        found = self.type_of(kind)
        where = self._namespace if namespace is None else namespace
        record = self._server.store.get(found.stored_as, found.key(where, name))
        return None if record is None else record.value

    def list(
        self, kind: Any, labels: Mapping[str, str] | None = None, namespace: str | None = None
    ) -> list[Json]:
        """Return the objects of a kind, in all namespaces by default, in order of their names."""
        found = self.type_of(kind)
        records = self._server.store.scan(found.stored_as, found.prefix(namespace or ""))
        wanted = (labels or {}).items()
        return [one.value for one in records if wanted <= labels_of(one.value).items()]

    def ready(self, kind: Any, name: str, namespace: str | None = None) -> bool:
        """Whether an object exists and its condition Ready is True for its generation."""
        obj = self.get(kind, name, namespace)
        if obj is None:
            return False
        found, generation = find(obj, READY), obj["metadata"].get("generation", 0)
        if found is None or found.status != "True":
            return False
        return found.observed_generation in (0, generation)

    def external(self, name: str) -> Any:
        """Return the stand-in of an external system."""
        return self.externals[name]

    def type_of(self, kind: Any) -> ResourceType:
        """Return the resource type of a kind in any of its forms."""
        found = self._found.get(kind)
        if found is None:
            found = self._found[kind] = self._look_up(kind)
        return found

    def _look_up(self, kind: Any) -> ResourceType:
        registry = self._server.core.registry
        known = kind_of(kind)
        if known is not None:
            found = registry.find(known.group, known.version, known.plural)
            if found is not None:
                return found
        text = str(kind).lower()
        for each in registry:
            if text in (each.kind.kind.lower(), each.kind.plural, *each.short_names):
                return each
        raise UsageError(
            f"the simulated server does not serve {kind!r}.\n"
            "  fix: use the name of a kind, its plural, a short name, a Kind or a Resource class"
        )

"""The resource types of the built-in kinds."""

from collections.abc import Iterable, Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.definitions import DefinitionStrategy
from myrmidon.apiserver.builtin.strategy import KindStrategy
from myrmidon.apiserver.catalog.resources import BuiltinResource, builtin_resources
from myrmidon.apiserver.resources.registry import ResourceType, ScalePaths
from myrmidon.apiserver.store import ObjectStore

_SCALE = ScalePaths(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"))
# Resources that share the storage of another group or version: its name, and its version.
_STORED_ELSEWHERE = {
    ("events.k8s.io", "v1", "events"): ("events", "v1"),
    ("autoscaling", "v1", "horizontalpodautoscalers"): ("", "autoscaling/v2"),
}


_DEPRECATIONS = {
    ("", "v1", "endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
}


class StoreLookup:
    """Read access of strategies to the objects in the store."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def objects(self, group: str, plural: str) -> Iterable[Json]:
        """Return all objects of a resource, in all namespaces."""
        resource = f"{plural}.{group}" if group else plural
        return (record.value for record in self._store.scan(resource))


def builtin_types(store: ObjectStore) -> Iterator[ResourceType]:
    """Yield every built-in resource type, in the order of discovery."""
    cluster = StoreLookup(store)
    for resource in builtin_resources():
        kind = resource.kind
        is_definition = kind.plural == "customresourcedefinitions"
        strategy = (DefinitionStrategy if is_definition else KindStrategy)(resource, cluster)
        storage, version = _STORED_ELSEWHERE.get((kind.group, kind.version, kind.plural), ("", ""))
        below = [each.name for each in resource.subresources]
        yield ResourceType(
            kind,
            strategy,
            resource.verbs,
            singular=resource.singular,
            short_names=resource.short_names,
            categories=resource.categories,
            status="status" in below,
            scale=_SCALE if "scale" in below else None,
            subresources=_others(resource),
            storage=storage,
            storage_api_version=version,
            deprecation=_DEPRECATIONS.get((*kind[:2], kind.plural), ""),
        )


def _others(resource: BuiltinResource) -> tuple[str, ...]:
    names = (each.name for each in resource.subresources)
    return tuple(name for name in names if name not in {"status", "scale"})

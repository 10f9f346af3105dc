"""Custom resources whose versions a webhook converts.

A stored object has the storage version of the time at which it was written.  The schema of that version prunes and
defaults it, then the webhook converts it, and the schema of the wanted version prunes the result; its defaults
are not set.  A write is converted to the storage version in the same way.

Only definitions with several versions and the strategy ``Webhook`` have these types: for all others nothing
changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.custom.strategy import CustomStrategy
from myrmidon.apiserver.resources.conversions import Conversions, ConvertedResource
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.schema.conforming import reshape
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema_node import Schema


class ConvertingStrategy(CustomStrategy):
    """The rules for one version of a custom resource, with a webhook for the others."""

    is_converted = True

    def __init__(
        self,
        like: CustomStrategy,
        webhook: ConvertedResource,
        conversions: Conversions,
        schemas: Mapping[str, Schema],
    ) -> None:
        self.__dict__.update(like.__dict__)
        self._webhook, self._conversions, self._schemas = webhook, conversions, schemas

    def read(self, value: Json) -> Json:
        """Return a stored object as this version shows it."""
        return self.convert(self._as_stored(value), self._api_version)

    def read_together(self, values: Iterable[Json]) -> None:
        """Ask for all objects at once that the webhook has to convert."""
        others = [value for value in values if value["apiVersion"] != self._api_version]
        if others:
            stored = map(self._as_stored, others)
            self._conversions.need(self._webhook, stored, self._api_version)

    def store(self, obj: Json) -> Json:
        """Return an object of this version in the storage version."""
        return self.convert(obj, self._storage_api_version)

    def convert(self, obj: Json, api_version: str) -> Json:
        """Return an object in another version, pruned by the schema of that version."""
        if obj["apiVersion"] == api_version:
            return obj
        made = self._conversions.convert(self._webhook, obj, api_version)
        schema = self._schemas.get(api_version)
        if schema is not None:
            prune(made, schema)
        return made

    def _as_stored(self, value: Json) -> Json:
        schema = self._schemas.get(value["apiVersion"])
        return reshape(value, self._storage_schema if schema is None else schema)


def is_converted(spec: Json) -> bool:
    """Whether a webhook converts the versions of a definition."""
    return len(spec["versions"]) > 1 and (spec.get("conversion") or {}).get("strategy") == "Webhook"


def converting(
    types: Iterable[ResourceType], spec: Json, conversions: Conversions
) -> tuple[ResourceType, ...]:
    """Return the resource types of a definition, with conversion between them."""
    name = f"{spec['names']['plural']}.{spec['group']}"
    webhook = ConvertedResource(name, spec["conversion"]["webhook"]["clientConfig"])
    served = {found.kind.api_version: found for found in types}
    schemas = {f"{spec['group']}/{version['name']}": version for version in spec["versions"]}
    compiled = {
        api_version: served[api_version].schema if api_version in served else _schema(version)
        for api_version, version in schemas.items()
    }
    made = []
    for found in served.values():
        assert isinstance(found.strategy, CustomStrategy)
        strategy = ConvertingStrategy(found.strategy, webhook, conversions, compiled)
        made.append(replace(found, strategy=strategy))
    return tuple(made)


def _schema(version: Json) -> Schema:
    return compile_schema((version.get("schema") or {}).get("openAPIV3Schema") or {})

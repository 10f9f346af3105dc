"""Build the resource types of a CustomResourceDefinition."""

from functools import lru_cache

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.custom.converting import converting, is_converted
from myrmidon.apiserver.custom.strategy import CustomStrategy
from myrmidon.apiserver.resources.conversions import Conversions, ReviewFunction
from myrmidon.apiserver.resources.registry import ResourceType, ScalePaths
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema_node import Schema

_KEPT_MAX = 256  # definitions, of all servers of the process


def _path(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part)


def served_types(definition: Json, conversions: Conversions) -> tuple[ResourceType, ...]:
    """Return one resource type for each served version of a definition.

    Equal definitions have the same resource types, also on different servers: to compile schemas and
    rules takes longer than most tests.  Where a webhook at an address converts, each server has its own.
    """
    spec = definition["spec"]
    types = _shared_types(definition)
    if not is_converted(spec):
        return types
    name = f"{spec['names']['plural']}.{spec['group']}"
    if name in conversions.local:
        return _converted_locally(types, orjson.dumps(spec), name, conversions.local[name])
    return converting(types, spec, conversions)


@lru_cache(maxsize=_KEPT_MAX)
def _converted_locally(
    types: tuple[ResourceType, ...], spec: bytes, name: str, review: ReviewFunction
) -> tuple[ResourceType, ...]:
    """Return types that convert with a function of this process; servers with the same one share them."""
    conversions = Conversions()
    conversions.local[name] = review
    return converting(types, orjson.loads(spec), conversions)


def _shared_types(definition: Json) -> tuple[ResourceType, ...]:
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    try:
        described = orjson.dumps([spec, names])
    except TypeError:  # nested too deeply for orjson
        return _build(spec, names)
    return _kept(described)


@lru_cache(maxsize=_KEPT_MAX)
def _kept(described: bytes) -> tuple[ResourceType, ...]:
    return _build(*orjson.loads(described))


def _build(spec: Json, names: Json) -> tuple[ResourceType, ...]:
    storage = next(version for version in spec["versions"] if version.get("storage"))
    storage_schema = _schema(storage)
    return tuple(
        _served_type(spec, names, version, storage, storage_schema)
        for version in spec["versions"]
        if version.get("served")
    )


def _served_type(
    spec: Json, names: Json, version: Json, storage: Json, storage_schema: Schema
) -> ResourceType:
    kind = Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        spec["scope"] == "Namespaced",
    )
    subresources = version.get("subresources") or {}
    schema = storage_schema if version is storage else _schema(version)
    scale = _scale(subresources.get("scale"))
    strategy = CustomStrategy(
        api_version=kind.api_version,
        kind=kind.kind,
        schema=schema,
        storage_api_version=f"{spec['group']}/{storage['name']}",
        storage_schema=storage_schema,
        status=subresources.get("status") is not None,
        selectable={
            field["jsonPath"].removeprefix("."): _path(field["jsonPath"])
            for field in version.get("selectableFields") or ()
        },
        columns=version.get("additionalPrinterColumns") or (),
        replicas=(scale.replicas, scale.status_replicas) if scale is not None else (),
    )
    return ResourceType(
        kind,
        strategy,
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        list_kind=names.get("listKind", ""),
        status=subresources.get("status") is not None,
        scale=scale,
        storage_api_version=f"{spec['group']}/{storage['name']}",
        custom=True,
        deprecation=_deprecation(spec, names, version),
    )


def _schema(version: Json) -> Schema:
    return compile_schema((version.get("schema") or {}).get("openAPIV3Schema") or {})


def _scale(paths: Json | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        _path(paths["specReplicasPath"]),
        _path(paths["statusReplicasPath"]),
        _path(paths.get("labelSelectorPath") or ""),
    )


def _deprecation(spec: Json, names: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    given: str = version.get("deprecationWarning") or ""
    return given or f"{spec['group']}/{version['name']} {names['kind']} is deprecated"

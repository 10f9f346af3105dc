"""CustomResourceDefinitions from resource classes, with all their versions.

A kind with versions that convert (``converts=``) gets a conversion webhook; one whose versions differ in
name only, or that has one version, gets none.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.kinds import CUSTOM_RESOURCE_DEFINITION
from myrmidon.api.typed.hubs import hub_of
from myrmidon.api.typed.markers import Column
from myrmidon.api.typed.resource import Resource
from myrmidon.errors import DefinitionError
from myrmidon.generate.schema.schema import schema_of_resource
from myrmidon.webhooks.versions import CONVERT_PATH

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\['([^']+)'\]|(\[[^]]*\])")


def conversion_client(namespace: str, service: str) -> Json:
    """Return the clientConfig of a conversion webhook behind a Service."""
    return {"service": {"namespace": namespace, "name": service, "path": CONVERT_PATH, "port": 443}}


def crd(resource: type[Resource[Any, Any]], *, client: Json | None = None) -> Json:
    """Return the CRD of a kind, with all its versions; ``resource`` is the hub or one of its spokes.

    ``client`` is the clientConfig of the conversion webhook: the service or URL that converts.
    """
    resource = hub_of(resource)
    definition, kind = resource.DEFINITION, resource.KIND
    classes = sorted((resource, *definition.versions), key=_priority, reverse=True)
    _check_storage(resource, classes)
    names: Json = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": definition.singular,
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    spec: Json = {
        "group": kind.group,
        "names": names,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "versions": [_version(version) for version in classes],
    }
    if has_conversion(resource):
        webhook = {
            "conversionReviewVersions": ["v1"],
            "clientConfig": client or conversion_client("default", "webhooks"),
        }
        spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITION.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITION.kind,
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": spec,
    }


def has_conversion(resource: type[Resource[Any, Any]]) -> bool:
    """Whether objects of a kind must be converted between its versions."""
    return any(
        version.DEFINITION.hub is not None for version in hub_of(resource).DEFINITION.versions
    )


def crds(
    resources: Iterable[type[Resource[Any, Any]]], *, client: Json | None = None
) -> list[Json]:
    """Return the CRDs of several resource classes, each kind once, sorted by name."""
    made: dict[str, Json] = {}
    covered: dict[str, set[type[Any]]] = {}
    hubs = dict.fromkeys(map(hub_of, resources))
    for resource in sorted(hubs, key=lambda each: -len(each.DEFINITION.versions)):
        name = f"{resource.KIND.plural}.{resource.KIND.group}"
        if name not in made:
            made[name] = crd(resource, client=client)
            covered[name] = {resource, *resource.DEFINITION.versions}
        elif resource not in covered[name]:
            raise DefinitionError(
                f"{resource.__name__} defines {name}, and so does another class that does not list it.\n"
                f"  fix: list {resource.__name__} in `versions` of the class of the storage version, "
                "with storage=False"
            )
    return [made[name] for name in sorted(made)]


def _version(resource: type[Resource[Any, Any]]) -> Json:
    definition = resource.DEFINITION
    schema = schema_of_resource(resource)
    made: Json = {
        "name": resource.KIND.version,
        "served": definition.served,
        "storage": definition.storage,
        "schema": {"openAPIV3Schema": schema},
    }
    if definition.deprecated:
        made["deprecated"] = True
        if isinstance(definition.deprecated, str):
            made["deprecationWarning"] = definition.deprecated
    subresources = _subresources(resource, schema)
    if subresources:
        made["subresources"] = subresources
    if definition.columns:
        made["additionalPrinterColumns"] = [
            _column(resource, schema, name, column) for name, column in definition.columns.items()
        ]
    if definition.selectable_fields:
        for path in definition.selectable_fields:
            _at(resource, schema, path, "selectable_fields")
        made["selectableFields"] = [{"jsonPath": path} for path in definition.selectable_fields]
    return made


def _subresources(resource: type[Resource[Any, Any]], schema: Json) -> Json:
    made: Json = {"status": {}} if resource.DEFINITION.status_subresource else {}
    scale = resource.DEFINITION.scale
    if scale is not None:
        for path in filter(None, (scale.spec_replicas, scale.status_replicas, scale.selector)):
            _at(resource, schema, path, "scale")
        made["scale"] = {
            "specReplicasPath": scale.spec_replicas,
            "statusReplicasPath": scale.status_replicas,
        }
        if scale.selector:
            made["scale"]["labelSelectorPath"] = scale.selector
    return made


def _column(resource: type[Resource[Any, Any]], schema: Json, name: str, column: Column) -> Json:
    made: Json = {
        "name": name,
        "type": column.type or _column_type(resource, schema, name, column),
        "jsonPath": column.path,
    }
    if column.description:
        made["description"] = column.description
    if column.format:
        made["format"] = column.format
    if column.priority:
        made["priority"] = column.priority
    return made


def _column_type(
    resource: type[Resource[Any, Any]], schema: Json, name: str, column: Column
) -> str:
    node = _at(resource, schema, column.path, f"columns[{name!r}]")
    if node.get("format") in ("date-time", "date"):
        return "date"
    found = str(node.get("type", "string"))
    return found if found in ("integer", "number", "boolean") else "string"


def _at(resource: type[Resource[Any, Any]], schema: Json, path: str, said_in: str) -> Json:
    """Return the schema of the field at a path; ``{}`` where the schema accepts any field."""
    node = schema
    if path.startswith(".metadata"):
        return _METADATA.get(path, {})
    for step in _STEP.finditer(path):
        key = step[1] or step[2]
        if key is None:
            node = node.get("items") or {}
        elif key in node.get("properties", {}):
            node = node["properties"][key]
        elif "properties" in node and "x-kubernetes-preserve-unknown-fields" not in node:
            raise DefinitionError(
                f"{resource.__name__} names {path!r} in {said_in}, but that object has no field {key!r}.\n"
                f"  fix: use one of {', '.join(sorted(node['properties']))}, in the spelling of the wire"
            )
        else:
            node = node.get("additionalProperties") or {}
    return node


def _check_storage(
    resource: type[Resource[Any, Any]], classes: Sequence[type[Resource[Any, Any]]]
) -> None:
    stored = [each for each in classes if each.DEFINITION.storage]
    if len(stored) == 1:
        return
    names = ", ".join(f"{each.__name__} ({each.KIND.version})" for each in classes)
    raise DefinitionError(
        f"{resource.KIND} has {len(stored)} storage versions among {names}; the server needs exactly one.\n"
        f"  fix: write storage=False on all but one of them"
    )


def _priority(resource: type[Resource[Any, Any]]) -> tuple[int, int, int]:
    """Return a sort key that puts versions in Kubernetes' order: v2, v1, v1beta2, v1alpha1."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", resource.KIND.version)
    assert found is not None, "checked when the resource was defined"
    stage = {"alpha": 0, "beta": 1, None: 2}[found[2]]
    return stage, int(found[1]), int(found[3] or 0)


_METADATA: dict[str, Json] = {
    ".metadata.creationTimestamp": {"type": "string", "format": "date-time"},
    ".metadata.deletionTimestamp": {"type": "string", "format": "date-time"},
    ".metadata.generation": {"type": "integer"},
}

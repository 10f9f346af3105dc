"""OpenAPI v3 documents of all served types, for ``kubectl explain`` and ``kubectl apply``.

There is an index, and a document for each group and version.  The schemas of built-in kinds were
recorded from a real server; those of custom resources come from their definitions.  The paths are reduced to the parts that kubectl reads: the kinds that can be
patched, and the query parameters that the server supports.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.catalog.resources import builtin_resources

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REFERENCE = "#/components/schemas/"
_JSON = "application/json"
_CONVENTIONS = (
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
)
METADATA_TEXT = f"Standard object's metadata. {_CONVENTIONS}#metadata"
_LIST_METADATA_TEXT = f"Standard list metadata. {_CONVENTIONS}#types-kinds"


class DescribedType(Protocol):
    """One version of a custom resource: its kind and its schema."""

    @property
    def kind(self) -> Kind:
        """Its group, version, kind, plural and scope."""
        ...

    @property
    def openapi(self) -> Json:
        """The ``openAPIV3Schema`` of the definition, empty if there is none."""
        ...


def index(custom: Iterable[DescribedType]) -> Json:
    """Return ``/openapi/v3``: the URLs of all documents, each with a hash of its content."""
    paths = {name: _entry(name, name) for name in files.definitions()["paths"]}
    for (group, version), types in _by_version(custom).items():
        name = f"apis/{group}/{version}"
        content = json.dumps([[*each.kind, each.openapi] for each in types], sort_keys=True)
        paths[name] = _entry(name, content)
    return {"paths": dict(sorted(paths.items()))}


def _entry(name: str, content: str) -> Json:
    made_by = files.served()["version"]["gitVersion"]
    digest = hashlib.sha512(f"{made_by} {content}".encode()).hexdigest().upper()
    return {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}


def document(name: str, custom: Iterable[DescribedType]) -> Json | None:
    """Return ``/openapi/v3/<name>``, for example ``apis/apps/v1``; None if it does not exist."""
    group, _, version = name.removeprefix("apis/").rpartition("/")
    kinds: list[Kind]
    if name in files.definitions()["paths"]:
        group = "" if name == "api/v1" else group
        kinds = [each.kind for each in builtin_resources() if each.kind[:2] == (group, version)]
        names = files.definitions()["paths"][name]
        schemas = {each: described(each) for each in names}
    else:
        types = _by_version(custom).get((group, version), [])
        if not types or not name.startswith("apis/"):
            return None
        kinds = [each.kind for each in types]
        schemas = _custom_schemas(types)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": short_version()},
        "paths": {path: item for kind in kinds for path, item in _paths(kind, schemas)},
        "components": {"schemas": schemas},
    }


def short_version() -> str:
    """Return the version that the documents name."""
    version = files.served()["version"]
    return f"{version['major']}.{version['minor']}"


def described(name: str) -> Json:
    """Return the schema of a built-in type, with its descriptions."""
    schema = deepcopy(files.definitions()["schemas"][name])
    texts = files.descriptions().get(name, {})
    for field, text in texts.items():
        target = schema["properties"][field] if field else schema
        target["description"] = text
    result: Json = schema
    return result


def _by_version(custom: Iterable[DescribedType]) -> dict[tuple[str, str], list[DescribedType]]:
    found: dict[tuple[str, str], list[DescribedType]] = {}
    for each in custom:
        found.setdefault((each.kind.group, each.kind.version), []).append(each)
    return found


def _custom_schemas(types: list[DescribedType]) -> Json:
    schemas: Json = {}
    for each in types:
        name = custom_name(each.kind)
        schemas[name] = _custom_schema(each)
        schemas[f"{name}List"] = list_schema(each.kind, name)
    needed = [_META + "ObjectMeta", _META + "ListMeta", _META + "Status", _META + "DeleteOptions"]
    while needed:
        name = needed.pop()
        if name not in schemas:
            schemas[name] = described(name)
            needed += _references(schemas[name])
    return schemas


def custom_name(kind: Kind) -> str:
    """Return the schema name of a custom resource: reversed group, version and kind."""
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def _custom_schema(described_type: DescribedType) -> Json:
    schema = deepcopy(described_type.openapi) or {
        "type": "object", "x-kubernetes-preserve-unknown-fields": True
    }  # fmt: skip
    standard = described(_META + "DeleteOptions")["properties"]
    metadata = {
        "description": METADATA_TEXT,
        "allOf": [{"$ref": _REFERENCE + _META + "ObjectMeta"}],
    }
    schema["properties"] = schema.get("properties", {}) | {
        "apiVersion": standard["apiVersion"],
        "kind": standard["kind"],
        "metadata": metadata,
    }
    schema["x-kubernetes-group-version-kind"] = [kind_marker(described_type.kind)]
    return schema


def list_schema(kind: Kind, name: str) -> Json:
    """Return the schema of the lists of a custom resource; ``name`` is that of its own schema."""
    standard = described(_META + "DeleteOptions")["properties"]
    return {
        "description": f"{kind.kind}List is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": standard["apiVersion"],
            "kind": standard["kind"],
            "metadata": {
                "description": _LIST_METADATA_TEXT,
                "allOf": [{"$ref": _REFERENCE + _META + "ListMeta"}],
            },
            "items": {
                "description": f"List of {kind.plural}. {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": _REFERENCE + name},
            },
        },
        "x-kubernetes-group-version-kind": [kind_marker(kind) | {"kind": f"{kind.kind}List"}],
    }


def kind_marker(kind: Kind) -> Json:
    """Return the extension that says which kind a schema or an operation is about."""
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(_REFERENCE)
        for below in value.values():
            yield from _references(below)
    elif isinstance(value, list):
        for below in value:
            yield from _references(below)


_WRITE = ("dryRun", "fieldManager", "fieldValidation")


def _paths(kind: Kind, schemas: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    marker = kind_marker(kind)
    name = next(
        (
            name
            for name, schema in schemas.items()
            if marker in schema.get("x-kubernetes-group-version-kind", ())
        ),
        "",
    )
    if not name:
        return
    where = "namespaces/{namespace}/" if kind.namespaced else ""
    collection = f"{kind.root}/{where}{kind.plural}"
    yield (
        collection,
        {
            "get": _operation("list", marker, name, ()),
            "post": _operation("post", marker, name, _WRITE),
        },
    )
    yield (
        f"{collection}/{{name}}",
        {
            "get": _operation("get", marker, name, ()),
            "put": _operation("put", marker, name, _WRITE),
            "patch": _operation("patch", marker, name, (*_WRITE, "force")),
            "delete": _operation("delete", marker, name, ("dryRun",)),
        },
    )


def _operation(action: str, marker: Json, name: str, parameters: tuple[str, ...]) -> Json:
    content = {_JSON: {"schema": {"$ref": _REFERENCE + name}}}
    return {
        "parameters": [
            {"name": parameter, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for parameter in parameters
        ],
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": marker,
    }

"""The document ``/openapi/v2``: all types and all paths, as JSON or protobuf.

kubectl reads it when it does not find a kind in the documents of version 3; only if it can read it
does it tell that the kind does not exist.  Helm and code generators read it as well.

The types of built-in kinds are those of version 3 without the keywords that version 2 does not
have.  Their paths are recorded from a real server, as are the paths of one custom resource of each
scope, with placeholders for its names.
"""

import re
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any, Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.discovery import openapi, openapi_v2_protobuf
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.wire.negotiation import Form

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED_FOR = {MEDIA_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
_NOT_ACCEPTABLE = HttpResponse(406)
_ONLY_VERSION_3 = frozenset({"default", "nullable", "oneOf", "anyOf", "allOf", "not"})
_META = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_EMBEDDED = {
    "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/"
    "api-conventions.md#resources",
    "kind": "kind is a string value representing the type of this object. In CamelCase. "
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/"
    "api-conventions.md#types-kinds",
}


class ServedType(openapi.DescribedType, Protocol):
    """One version of a custom resource: also which paths it has."""

    @property
    def list_kind(self) -> str:
        """The kind of its lists."""
        ...

    @property
    def status(self) -> bool:
        """Whether it has a status subresource."""
        ...

    @property
    def scale(self) -> Any:
        """Its scale subresource, or None."""
        ...


def form_of(accept: str) -> Form:
    """Return the form that a client accepts: JSON, protobuf, or one that is refused."""
    if not accept:
        return Form()
    for part in accept.split(","):
        media = part.partition(";")[0].strip()
        if media in {"application/json", "*/*"}:
            return Form()
        if media in _ASKED_FOR:
            return Form("protobuf")
    return Form("none")


def answer(custom: Iterable[ServedType], form: Form) -> HttpResponse:
    """Return the document in a form."""
    if form.media == "protobuf":
        # Protobuf merges messages that follow each other, so that the large part is made once.
        body = _builtin_protobuf() + openapi_v2_protobuf.encode(_custom(list(custom)))
        return HttpResponse(200, (("content-type", MEDIA_TYPE),), body)
    if form.media != "json":
        return _NOT_ACCEPTABLE
    headers = (("content-type", "application/json"),)
    return HttpResponse(200, headers, go_json.encode(swagger(custom)))


def swagger(custom: Iterable[ServedType]) -> Json:
    """Return the document: all types and paths."""
    builtin, added = _builtin(), _custom(list(custom))
    return {
        **builtin,
        "paths": {**builtin["paths"], **added["paths"]},
        "definitions": {**builtin["definitions"], **added["definitions"]},
    }


def _builtin() -> Json:
    recorded = files.openapi_v2()
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": openapi.short_version()},
        "paths": recorded["paths"],
        "definitions": builtin_types() | recorded["definitions"],
        "parameters": recorded["parameters"],
        "securityDefinitions": recorded["securityDefinitions"],
        "security": recorded["security"],
    }


def builtin_types() -> Json:
    """Return the types of the documents of version 3, as version 2 has them."""
    names = files.definitions()["schemas"]
    return {name: _without_version_3(openapi.described(name)) for name in names}


@cache
def _builtin_protobuf() -> bytes:
    return openapi_v2_protobuf.encode(_builtin())


# ------------------------------------------------------------------------ custom resources


def _custom(types: list[ServedType]) -> Json:
    paths: Json = {}
    schemas: Json = {}
    for each in types:
        paths |= _paths(each)
        name = openapi.custom_name(each.kind)
        schemas[name] = _custom_schema(each)
        lists = _without_version_3(openapi.list_schema(each.kind, name))
        schemas[f"{name}List"] = lists
    return {"paths": paths, "definitions": schemas}


def _paths(served: ServedType) -> Json:
    """Return the recorded paths with the names of a custom resource."""
    kind = served.kind
    template = files.openapi_v2()["custom"]["Namespaced" if kind.namespaced else "Cluster"]
    camel = "".join(part[:1].upper() + part[1:] for part in re.split(r"[^a-zA-Z0-9]+", kind.group))
    values = {
        "group": kind.group,
        "version": kind.version,
        "plural": kind.plural,
        "kind": kind.kind,
        "list": served.list_kind or f"{kind.kind}List",
        "name": openapi.custom_name(kind),
        "tag": f"{camel[:1].lower()}{camel[1:]}_{kind.version}",
        "id": f"{camel}{kind.version[:1].upper()}{kind.version[1:]}",
    }
    text = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], template)
    paths: Json = go_json.decode(text.encode())
    absent = [
        below
        for below, is_there in (
            ("/status", served.status),
            ("/scale", served.scale is not None),
        )
        if not is_there
    ]
    return {path: item for path, item in paths.items() if not path.endswith(tuple(absent))}


def _custom_schema(served: ServedType) -> Json:
    marker = [openapi.kind_marker(served.kind)]
    schema = served.openapi
    if not schema or schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", "x-kubernetes-group-version-kind": marker}
    made = _for_kubectl(deepcopy(schema))
    standard = openapi.described("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")["properties"]
    made["properties"] = made.get("properties", {}) | {
        "apiVersion": standard["apiVersion"],
        "kind": standard["kind"],
        "metadata": {"description": openapi.METADATA_TEXT, "$ref": _META},
    }
    return made | {"x-kubernetes-group-version-kind": marker}


def _for_kubectl(schema: Json) -> Json:
    """Return the schema of a custom resource as version 2 shows it, which loses what kubectl cannot read.

    A nullable value has no type at all, and a value with unknown fields no known ones.
    """
    is_nullable = schema.get("nullable", False)
    is_open = schema.get("x-kubernetes-preserve-unknown-fields", False)
    made = {key: value for key, value in schema.items() if key not in _ONLY_VERSION_3}
    if is_nullable or is_open:
        made.pop("items", None)
        made.pop("properties", None)
    if is_nullable or (is_open and made.get("type") == "object"):
        made.pop("type", None)
    if made.get("type") == "array" and "items" not in made:
        del made["type"]
    fields: Json = made.get("properties", {})
    if fields:
        nullable = {name for name, field in fields.items() if field.get("nullable")}
        required = [name for name in made.pop("required", ()) if name not in nullable]
        if required:
            made["required"] = required
        made["properties"] = {name: _for_kubectl(field) for name, field in fields.items()}
    for below in ("items", "additionalProperties"):
        if isinstance(made.get(below), dict):
            made[below] = _for_kubectl(made[below])
    if made.get("x-kubernetes-embedded-resource") and not is_open:
        texts = {name: {"description": text, "type": "string"} for name, text in _EMBEDDED.items()}
        metadata = {"description": openapi.METADATA_TEXT, "$ref": _META}
        made["properties"] = made.get("properties", {}) | texts | {"metadata": metadata}
        made["required"] = [*made.get("required", ()), "kind", "apiVersion"]
    return made


# ---------------------------------------------------------------------------- built-in types


def _without_version_3(schema: Any) -> Any:
    """Return a schema of a built-in type without the keywords that version 2 does not have."""
    match schema:
        case {"allOf": [{"$ref": str() as target}], **rest}:
            kept = {key: value for key, value in rest.items() if key not in _ONLY_VERSION_3}
            return {"$ref": _reference(target), **kept}
        case {"$ref": str() as target}:
            return {"$ref": _reference(target)}
        case {"oneOf": list() as choices, **rest} if all("type" in each for each in choices):
            return {"type": "string"} | {
                key: _without_version_3(value) for key, value in rest.items()
            }
        case {"properties": dict() as properties, **rest}:
            fields = {name: _without_version_3(field) for name, field in properties.items()}
            return _without_version_3(rest) | {"properties": fields}
        case dict():
            return {
                key: _without_version_3(value)
                for key, value in schema.items()
                if key not in _ONLY_VERSION_3
            }
        case list():
            return [_without_version_3(value) for value in schema]
        case _:
            return schema


def _reference(target: str) -> str:
    return target.replace("#/components/schemas/", "#/definitions/")

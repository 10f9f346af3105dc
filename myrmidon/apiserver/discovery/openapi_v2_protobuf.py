"""Write an OpenAPI v2 document as protobuf, the form in which kubectl asks for it.

The messages are those of ``OpenAPIv2.proto`` of gnostic.  The table below has the parts of them
that documents of Kubernetes use: field number and type of each JSON member.  A type in brackets is
repeated, one in braces is a map, which is a message with a list of names and values.  Messages that
are one of several things in JSON (a parameter or a reference to one, a schema or a boolean) have a
function.  Extensions (``x-...``) are kept as YAML texts; JSON is YAML.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.wire.protobuf_format import (
    EIGHT_BYTES,
    double,
    field,
    int_field,
    tag,
    text_field,
)

_Fields: TypeAlias = Mapping[str, tuple[int, str]]

_LIMITS: _Fields = {
    "multipleOf": (6, "double"),
    "maximum": (7, "double"),
    "exclusiveMaximum": (8, "int"),
    "minimum": (9, "double"),
    "exclusiveMinimum": (10, "int"),
    "maxLength": (11, "int"),
    "minLength": (12, "int"),
    "pattern": (13, "text"),
    "maxItems": (14, "int"),
    "minItems": (15, "int"),
    "uniqueItems": (16, "int"),
    "maxProperties": (17, "int"),
    "minProperties": (18, "int"),
}
_MESSAGES: Mapping[str, tuple[int, _Fields]] = {  # the first number: that of the extensions
    "Document": (
        16,
        {
            "swagger": (1, "text"),
            "info": (2, "Info"),
            "paths": (8, "Paths"),
            "definitions": (9, "{Schema}"),
            "parameters": (10, "{parameter}"),
            "security": (12, "[{texts}]"),
            "securityDefinitions": (13, "{security}"),
        },
    ),
    "Info": (7, {"title": (1, "text"), "version": (2, "text"), "description": (3, "text")}),
    "PathItem": (
        10,
        {
            "get": (2, "Operation"),
            "put": (3, "Operation"),
            "post": (4, "Operation"),
            "delete": (5, "Operation"),
            "options": (6, "Operation"),
            "head": (7, "Operation"),
            "patch": (8, "Operation"),
            "parameters": (9, "[parameter or reference]"),
        },
    ),
    "Operation": (
        13,
        {
            "tags": (1, "[text]"),
            "description": (3, "text"),
            "operationId": (5, "text"),
            "produces": (6, "[text]"),
            "consumes": (7, "[text]"),
            "parameters": (8, "[parameter or reference]"),
            "responses": (9, "{response}"),
            "schemes": (10, "[text]"),
            "deprecated": (11, "int"),
        },
    ),
    "Body": (
        6,
        {
            "description": (1, "text"),
            "name": (2, "text"),
            "in": (3, "text"),
            "required": (4, "int"),
            "schema": (5, "Schema"),
        },
    ),
    "QueryParameter": (
        23,
        {
            "required": (1, "int"),
            "in": (2, "text"),
            "description": (3, "text"),
            "name": (4, "text"),
            "type": (6, "text"),
            "format": (7, "text"),
            "uniqueItems": (20, "int"),
        },
    ),
    "PathParameter": (
        22,
        {
            "required": (1, "int"),
            "in": (2, "text"),
            "description": (3, "text"),
            "name": (4, "text"),
            "type": (5, "text"),
            "format": (6, "text"),
            "uniqueItems": (19, "int"),
        },
    ),
    "Response": (5, {"description": (1, "text"), "schema": (2, "response schema")}),
    "Reference": (0, {"$ref": (1, "text"), "description": (2, "text")}),
    "ApiKey": (
        5,
        {"type": (1, "text"), "name": (2, "text"), "in": (3, "text"), "description": (4, "text")},
    ),
    "Schema": (
        31,
        {
            "$ref": (1, "text"),
            "format": (2, "text"),
            "title": (3, "text"),
            "description": (4, "text"),
            "default": (5, "any"),
            **_LIMITS,
            "required": (19, "[text]"),
            "enum": (20, "[any]"),
            "additionalProperties": (21, "schema or boolean"),
            "type": (22, "types"),
            "items": (23, "items"),
            "allOf": (24, "[Schema]"),
            "properties": (25, "{Schema}"),
            "example": (30, "any"),
        },
    ),
}


def encode(document: Json) -> bytes:
    """Return a document, or some members of one, as protobuf."""
    return _content("Document", document)


def _field(number: int, type_: str, value: Any) -> bytes:
    """Return a field of a message."""
    match type_:
        case "text":
            return text_field(number, value)
        case "int":
            return int_field(number, value)
        case "double":
            return tag(number, EIGHT_BYTES) + double(value)
        case _ if type_[0] == "[":
            return b"".join(_field(number, type_[1:-1], item) for item in value)
        case _:
            return field(number, _content(type_, value))


def _content(type_: str, value: Any) -> bytes:
    """Return a message without its tag."""
    if type_[0] == "{":
        return _map(1, type_[1:-1], value)
    special = _SPECIAL.get(type_)
    if special is not None:
        return special(value)
    extensions, known = _MESSAGES[type_]
    parts: list[bytes] = []
    for key, member in value.items():
        if key in known:
            parts.append(_field(*known[key], member))
        elif key.startswith("x-"):
            parts.append(field(extensions, text_field(1, key) + field(2, _any(member))))
    return b"".join(parts)


def _map(number: int, type_: str, value: Json) -> bytes:
    return b"".join(
        field(number, text_field(1, key) + field(2, _content(type_, item)))
        for key, item in value.items()
    )


def _any(value: Any) -> bytes:
    return field(2, go_json.encode(value) + b"\n")


def _parameter(value: Json) -> bytes:
    where = value["in"]
    if where == "body":
        return field(1, _content("Body", value))
    if where == "path":
        return field(2, field(4, _content("PathParameter", value)))
    return field(2, field(3, _content("QueryParameter", value)))


def _parameter_or_reference(value: Json) -> bytes:
    if "$ref" in value:
        return field(2, _content("Reference", value))
    return field(1, _parameter(value))


def _schema_or_boolean(value: Any) -> bytes:
    return int_field(2, value) if isinstance(value, bool) else field(1, _content("Schema", value))


_SPECIAL: Mapping[str, Callable[[Any], bytes]] = {
    "any": _any,
    "Paths": lambda value: _map(2, "PathItem", value),
    "items": lambda value: field(1, _content("Schema", value)),
    "parameter": _parameter,
    "parameter or reference": _parameter_or_reference,
    "response": lambda value: field(1, _content("Response", value)),
    "response schema": lambda value: field(1, _content("Schema", value)),
    "schema or boolean": _schema_or_boolean,
    "security": lambda value: field(2, _content("ApiKey", value)),
    "texts": lambda value: b"".join(text_field(1, item) for item in value),
    "types": lambda value: text_field(1, value),
}

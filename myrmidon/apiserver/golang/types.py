"""The names of JSON types in Go's error messages.

There are two kinds of messages: those of ``encoding/json`` (``json_kind``: "cannot unmarshal number
into …"), and those that print the type of an ``interface{}`` (``go_type``: "expected string, got
int64").
"""

from typing import Any

_JSON_KINDS: dict[type, str] = {
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_GO_TYPES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def json_kind(value: Any) -> str:
    """Return ``bool``, ``number``, ``string``, ``array``, ``object`` or ``null``."""
    return _JSON_KINDS.get(type(value), "null")


def go_type(value: Any) -> str:
    """Return the Go type of a decoded JSON value; ``<nil>`` for null."""
    return go_type_name(type(value))


def go_type_name(python_type: type) -> str:
    """Return the Go type that corresponds to a Python type."""
    return _GO_TYPES.get(python_type, "<nil>")

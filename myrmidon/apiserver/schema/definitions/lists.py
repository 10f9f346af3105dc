"""Validation of ``x-kubernetes-list-type`` (with its keys) and ``x-kubernetes-map-type``."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause

_LIST, _MAP = "x-kubernetes-list-type", "x-kubernetes-map-type"
_KEYS = "x-kubernetes-list-map-keys"


def check_list_and_map(schema: Json, path: str) -> list[StatusCause]:
    """Return the errors of the extensions that say how lists and maps are merged."""
    found = _check_type(schema, path, _MAP, "object")
    map_type, list_type = schema.get(_MAP), schema.get(_LIST)
    if map_type is not None and map_type not in ("atomic", "granular"):
        found.append(causes.not_supported(f"{path}.{_MAP}", map_type, ("atomic", "granular")))
    wrong = _check_type(schema, path, _LIST, "array")
    found += wrong
    items = schema.get("items")
    if not wrong and list_type == "set" and isinstance(items, dict):
        found += _check_set_items(items, path)
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        found.append(causes.not_supported(f"{path}.{_LIST}", list_type, ("atomic", "set", "map")))
    keys = schema.get(_KEYS) or []
    detail = f"must be map if {_KEYS} is non-empty"
    if keys and list_type is None:
        found.append(causes.required(f"{path}.{_LIST}", detail))
    elif keys and list_type != "map":
        found.append(causes.invalid(f"{path}.{_LIST}", list_type, detail))
    if list_type == "map":
        found += _check_map_list(items, keys, path)
    if list_type in ("set", "map") and isinstance(items, dict):
        found += _check_item_keys(items, keys, list_type, path)
    return found


def _check_type(schema: Json, path: str, extension: str, wanted: str) -> list[StatusCause]:
    kind = schema.get("type") or ""
    if schema.get(extension) is None or kind == wanted:
        return []
    detail = f"must be {wanted} if {extension} is specified"
    if not kind:
        return [causes.required(f"{path}.type", detail)]
    return [causes.invalid(f"{path}.type", kind, detail)]


def _check_set_items(items: Json, path: str) -> list[StatusCause]:
    """Return an error if the items of a set are not atomic.  They are compared as a whole."""
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    shown = items.get(_LIST)
    if items.get("type") == "array" and shown not in (None, "atomic"):
        return [causes.invalid(f"{path}.items.{_LIST}", shown, detail)]
    if items.get("type") == "object" and items.get(_MAP) != "atomic":
        return [causes.invalid(f"{path}.items.{_MAP}", shown, detail)]
    return []


def _check_map_list(items: Any, keys: list[str], path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    if not keys:
        detail = f"must not be empty if {_LIST} is map"
        found.append(causes.required(f"{path}.{_KEYS}", detail))
    if items is None:
        detail = f"must have a schema if {_LIST} is map"
        return [*found, causes.required(f"{path}.items", detail)]
    if not isinstance(items, dict):
        detail = f"must only have a single schema if {_LIST} is map"
        return [*found, causes.invalid(f"{path}.items", items, detail)]
    kind = items.get("type") or ""
    if kind != "object":
        detail = f"must be object if parent array's {_LIST} is map"
        return [*found, causes.invalid(f"{path}.items.type", kind, detail)]
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            found.append(causes.invalid(f"{path}.{_KEYS}", keys, detail))
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST} is map"
            where = f"{path}.items.properties[{key}].type"
            found.append(causes.invalid(where, kind, detail))
        if key in keys[:index]:
            detail = "must not contain duplicate entries"
            found.append(causes.invalid(f"{path}.{_KEYS}", keys, detail))
    return found


def _check_item_keys(items: Json, keys: list[str], list_type: str, path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    if items.get("nullable"):
        detail = f"cannot be nullable when {_LIST} is {list_type}"
        found.append(causes.forbidden(f"{path}.items.nullable", detail))
    if list_type == "set":
        return found
    properties = items.get("properties") or {}
    for key in keys:
        if key not in properties:
            continue
        where = f"{path}.items.properties[{key}]"
        because = f"this property is in {_KEYS}, so it"
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            detail = f"{because} must have a default or be a required property"
            found.append(causes.required(f"{where}.default", detail))
        if properties[key].get("nullable"):
            found.append(causes.forbidden(f"{where}.nullable", f"{because} cannot be nullable"))
    return found

"""Cells that several tables have in common."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.resources.tables import since

NONE = "<none>"
UNSET = "<unset>"


def name(obj: Json) -> str:
    """Return the name of an object."""
    return str(obj["metadata"].get("name", ""))


def age(obj: Json, now: datetime) -> str:
    """Return the age of an object."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def containers(spec: Json) -> tuple[str, str]:
    """Return the names and the images of the containers of a pod."""
    listed = spec.get("containers") or []
    names = ",".join(container.get("name", "") for container in listed)
    return names, ",".join(container.get("image", "") for container in listed)


def labels(values: Mapping[str, str] | None) -> str:
    """Return labels in one line."""
    return ",".join(f"{key}={value}" for key, value in sorted((values or {}).items())) or NONE


def selector(value: Json | None) -> str:
    """Return a label selector in one line, ``<none>`` if it is empty."""
    return selector_text(value) or NONE


def selector_text(value: Json | None) -> str:
    """Return a label selector in one line, "" if it is empty."""
    value = value or {}
    parts = [(key, f"{key}={text}") for key, text in value.get("matchLabels", {}).items()]
    parts += [(each["key"], _expression(each)) for each in value.get("matchExpressions", ())]
    return ",".join(text for _, text in sorted(parts))


def _expression(expression: Json) -> str:
    key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"


def some(items: Iterable[str], most: int, *, separator: str = ",", empty: str = UNSET) -> str:
    """Return the first items of a list, and how many more there are."""
    listed = list(items)
    if not listed:
        return empty
    text = separator.join(listed[:most])
    return f"{text} + {len(listed) - most} more..." if len(listed) > most else text

"""Placeholders: stand for objects that cannot be converted, so that the others can be listed.

The API server has no result for a single object: if the conversion of one object fails, the server answers
every list of that version with a 500, and its watches of that version stop.  One object would hide all others.

So an object that cannot be converted is shown as a placeholder: its metadata, an empty spec, and the annotation
``unconverted.myrmidon.dev/<version>``, which holds the error and the object's own content.  Converted back, a
placeholder is the object that it stands for, with any edits of metadata (a label, a finalizer that is removed);
an edit of its spec or status is refused.  Nothing is lost, even if a placeholder is stored.

A conversion to the storage version gets no placeholder: its result may be a new object that a client wants to
create, and that has to be refused.
"""

import json
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ConversionError
from myrmidon.webhooks.versions.conversion import (
    ANNOTATIONS_BYTES_MAX,
    AnyClass,
    annotations_of,
    described,
    versions_of,
)

PREFIX = "unconverted.myrmidon.dev/"
_EMPTY: Json = {"spec": {}}


def placeholder_for(obj: Json, target: AnyClass, error: ConversionError) -> Json | None:
    """Return the placeholder of an object in another version; None if there must not be one."""
    if target.DEFINITION.storage:
        return None
    annotations = {**annotations_of(obj), PREFIX + _version(obj): _written(obj, error)}
    size = sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items())
    if size > ANNOTATIONS_BYTES_MAX:
        return None
    return {
        "apiVersion": target.KIND.api_version,
        "kind": target.KIND.kind,
        "metadata": {**(obj.get("metadata") or {}), "annotations": annotations},
        **_EMPTY,
    }


def original_of(obj: Json, source: AnyClass) -> tuple[Json, AnyClass] | None:
    """Return the object that a placeholder stands for, and its class; None if it is not a placeholder.

    Raise ``ConversionError`` if a client has edited more than the metadata of a placeholder.
    """
    annotations = annotations_of(obj)
    for api_version, resource in versions_of(source).items():
        content = _read(annotations.get(PREFIX + resource.KIND.version))
        if content is None:
            continue
        if _content(obj) != _EMPTY:
            raise ConversionError(
                described(obj),
                resource.KIND.version,
                f"it is a placeholder for an object that could not be converted, and cannot be edited.\n"
                f"  fix: edit it as {resource.KIND.plural}.{resource.KIND.version}.{resource.KIND.group}",
            )
        metadata = dict(obj["metadata"])
        metadata["annotations"] = {
            key: text for key, text in annotations.items() if not key.startswith(PREFIX)
        }
        if not metadata["annotations"]:
            del metadata["annotations"]
        typed = {"apiVersion": api_version, "kind": resource.KIND.kind, "metadata": metadata}
        return {**content, **typed}, resource
    return None


def _version(obj: Json) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[2]


def _content(obj: Json) -> Json:
    return {key: obj[key] for key in obj if key not in ("apiVersion", "kind", "metadata")}


def _written(obj: Json, error: ConversionError) -> str:
    """Return the same text for the same object, so that a placeholder does not seem to change."""
    said = {"error": error.problem, "content": _content(obj)}
    return json.dumps(said, sort_keys=True, separators=(",", ":"))


def _read(text: Any) -> Json | None:
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    content = found.get("content") if isinstance(found, dict) else None
    return content if isinstance(content, dict) else None

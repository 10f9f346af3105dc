"""kubectl's last-applied annotation: moving from client-side to server-side apply and back.

Client-side apply stores the applied configuration in an annotation.  When kubectl applies the object
server-side for the first time, the fields in that annotation count as its own, so they do not
conflict.  While the annotation exists the server keeps it up to date, so that a later client-side
apply still works.
"""

import json
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.apiserver.fields.checking import check
from myrmidon.apiserver.fields.comparing import compare
from myrmidon.apiserver.fields.fieldset import FieldSet, difference
from myrmidon.apiserver.fields.listing import ShapeError
from myrmidon.apiserver.fields.owning import claimed
from myrmidon.apiserver.fields.versions import Versions

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"


def remembered(live: Json, versions: Versions) -> FieldSet:
    """Return the fields of the last client-side apply whose values have not changed since."""
    shape = versions.shape(versions.api_version)
    applied = _parsed(annotations_of(live).get(ANNOTATION) or "")
    if shape is None or applied.get("apiVersion") != versions.api_version:
        return FieldSet()
    try:
        check(applied, shape)
        fields = claimed(applied, shape)
        for changed in compare(applied, live, shape):
            fields = difference(fields, changed)
    except ShapeError:
        return FieldSet()
    return FieldSet(fields)


def _parsed(text: str) -> Json:
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def with_annotation(obj: Json, applied: Json) -> Json:
    """Return the object with its annotation updated, if it has one."""
    annotations = annotations_of(obj)
    if not annotations.get(ANNOTATION):
        return obj
    metadata = obj["metadata"] | {"annotations": {**annotations, ANNOTATION: _written(applied)}}
    return obj | {"metadata": metadata}


def _written(applied: Json) -> str:
    """Return the annotation's text: sorted JSON without the annotation itself, and a newline."""
    annotations = annotations_of(applied)
    if annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        metadata = {k: v for k, v in applied["metadata"].items() if k != "annotations"}
        if rest:
            metadata["annotations"] = rest
        applied = applied | {"metadata": metadata}
    return json.dumps(applied, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"

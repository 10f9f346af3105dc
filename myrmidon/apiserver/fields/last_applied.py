"""kubectl's memory of its client-side applies, and the way from there to server-side apply.

Client-side apply remembers what it applied in an annotation.  When kubectl applies server-side for
the first time, the fields in it are its own already and no conflict; and as long as the annotation
is there, the server keeps it up to date, so that the way back is open.
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
    """The fields of the last client-side apply that still are as they were applied."""
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
    """The object with the annotation brought up to date, if it has one."""
    annotations = annotations_of(obj)
    if not annotations.get(ANNOTATION):
        return obj
    metadata = obj["metadata"] | {"annotations": {**annotations, ANNOTATION: _written(applied)}}
    return obj | {"metadata": metadata}


def _written(applied: Json) -> str:
    """The configuration as the server writes it: without the annotation, sorted, with an end."""
    annotations = annotations_of(applied)
    if annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        metadata = {k: v for k, v in applied["metadata"].items() if k != "annotations"}
        if rest:
            metadata["annotations"] = rest
        applied = applied | {"metadata": metadata}
    return json.dumps(applied, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"

"""The scale subresource: another view of an object, with one number that can be written."""

from copy import deepcopy
from typing import Any

from myrmidon.api.objects import Json
from myrmidon.api.refs import Kind
from myrmidon.apiserver import views
from myrmidon.apiserver.bodies import check_fields, decode_failure, read_object, strict_failure
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.causes import invalid
from myrmidon.apiserver.failures import Cause, Failure, bad_request, invalid_object
from myrmidon.apiserver.metadata import decode_metadata
from myrmidon.apiserver.options import read_write_options
from myrmidon.apiserver.patches import patch_failure, patched
from myrmidon.apiserver.patching import read_patch_options
from myrmidon.apiserver.registry import ScalePaths
from myrmidon.apiserver.schema.types import Schema
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.strategy import DecodeError
from myrmidon.apiserver.updating import update

SCALE = Kind("autoscaling", "v1", "Scale", "scales")


def get_scale(call: Call) -> Json:
    """The scale of the object of the path."""
    record = _record(call)
    obj = views.shown(call.type, record)
    paths = _paths(call)
    if call.type.custom and _at(obj, paths.replicas) is None:
        problem = f'the spec replicas field ".{".".join(paths.replicas)}" does not exist'
        raise Failure(
            500,
            "InternalError",
            f"Internal error occurred: {problem}",
            causes=[Cause("", "", problem)],
        )
    return scale_of(call, obj)


def replace_scale(call: Call) -> Json:
    """PUT: take the number of the body."""
    read_write_options(call, "UpdateOptions")
    body, duplicates = read_object(call, SCALE)
    try:
        scale, unknown = _decode(body)
    except DecodeError as error:
        raise decode_failure(call, error) from None
    problems = check_fields(call, unknown, duplicates)
    if problems:
        raise strict_failure(call, problems)
    name = scale["metadata"].get("name", "")
    if name != call.route.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.route.name})"
        )
    return _write(call, _record(call), scale)


def patch_scale(call: Call) -> Json:
    """PATCH: patch the scale, then take its number."""
    media = read_patch_options(call)
    record = _record(call)
    current = scale_of(call, views.shown(call.type, record))
    try:
        scale, unknown = _decode(patched(call, media, current, _SCHEMA))
    except DecodeError as error:
        raise patch_failure(str(error)) from None
    problems = check_fields(call, unknown, ())
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    return _write(call, record, scale)


def _write(call: Call, record: Record, scale: Json) -> Json:
    replicas = scale["spec"].get("replicas", 0)
    if replicas < 0:
        cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid_object("Scale", "autoscaling", call.route.name, [cause])
    old = views.shown(call.type, record)
    version = scale["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
    obj = deepcopy(old)
    _put(obj, _paths(call).replicas, replicas)
    obj["metadata"]["resourceVersion"] = version
    return scale_of(call, views.shown(call.type, update(call, record, obj, "scale")))


def scale_of(call: Call, obj: Json) -> Json:
    """The scale that an object shows."""
    paths, meta = _paths(call), obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = _at(obj, paths.replicas) or 0
    status: Json = {"replicas": _at(obj, paths.status_replicas) or 0}
    selector = _at(obj, paths.selector) if paths.selector else None
    if isinstance(selector, dict):
        selector = selector_text(selector)
    if selector:
        status["selector"] = selector
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas or call.type.custom else {},
        "status": status,
    }


def selector_text(selector: Json) -> str:
    """A label selector of an object as the text of a query."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for requirement in selector.get("matchExpressions") or ():
        key, values = requirement["key"], ",".join(sorted(requirement.get("values") or ()))
        match requirement["operator"]:
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(key)
            case _:
                parts.append(f"!{key}")
    return ",".join(sorted(parts))


def _record(call: Call) -> Record:
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None:
        raise call.not_found()
    return record


def _paths(call: Call) -> ScalePaths:
    assert call.type.scale is not None, "the handler checks that there is a scale"
    return call.type.scale


_SCHEMA = Schema(
    type="object",
    properties={"spec": Schema(type="object", properties={"replicas": Schema(type="integer")})},
)


def _decode(body: Any) -> tuple[Json, list[str]]:
    """A Scale as Go reads it."""
    if not isinstance(body, dict):
        raise DecodeError("json: cannot unmarshal into Go value of type v1.Scale")
    meta, unknown = decode_metadata(body.get("metadata"))
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise DecodeError(
            "json: cannot unmarshal into Go struct field Scale.spec of type v1.ScaleSpec"
        )
    replicas = spec.get("replicas") or 0
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise DecodeError(
            "json: cannot unmarshal into Go struct field ScaleSpec.spec.replicas of type int32"
        )
    unknown += [f"spec.{key}" for key in spec if key != "replicas"]
    return {"metadata": meta, "spec": {"replicas": replicas}}, unknown


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _put(obj: Json, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    obj[path[-1]] = value

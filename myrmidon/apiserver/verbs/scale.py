"""The scale subresource: a Scale view of an object, whose replicas can be written.

Reading builds a Scale from the paths in ``ResourceType.scale``.  Writing takes ``spec.replicas`` of
the Scale and updates the object with it, through the same steps as any other update.

Field ownership is translated both ways: the ``managedFields`` entries that own the replicas of the
object become entries of the Scale, the write is tracked on the Scale, and the result is merged back
into the entries of the object.
"""

from collections.abc import Callable, Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.admission.steps import run_mutating
from myrmidon.apiserver.builtin.decoding import DecodingError, decode
from myrmidon.apiserver.catalog.types import schema_of
from myrmidon.apiserver.fields import (
    Path,
    Versions,
    after_apply,
    after_update,
    from_scale,
    to_scale,
)
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import (
    Failure,
    bad_request,
    internal,
    internal_error,
    invalid_object,
)
from myrmidon.apiserver.requests.call import Call, PendingWrite
from myrmidon.apiserver.requests.routing import is_true
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.metadata import validate_contents
from myrmidon.apiserver.resources.registry import ScalePaths
from myrmidon.apiserver.schema.defaulting import copy_json
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.apply import read_configuration
from myrmidon.apiserver.verbs.bodies import check_fields, read_object, strict_failure
from myrmidon.apiserver.verbs.create import check_namespace
from myrmidon.apiserver.verbs.managed_fields import manager_of, set_entries
from myrmidon.apiserver.verbs.options import read_write_options
from myrmidon.apiserver.verbs.patch import read_patch_options
from myrmidon.apiserver.verbs.patch_documents import APPLY, patch_failure, patched
from myrmidon.apiserver.verbs.update import SubresourceView, check_name, check_uid, update

SCALE = Kind("autoscaling", "v1", "Scale", "scales")


def get_scale(call: Call) -> Json:
    """Return the Scale of the object that the path names."""
    record = call.stored()
    obj = representation.shown(call.type, record)
    paths = _paths(call)
    if call.type.custom and _at(obj, paths.replicas) is None:
        problem = f'the spec replicas field ".{".".join(paths.replicas)}" does not exist'
        raise internal_error(problem)
    return scale_of(call, obj)


def replace_scale(call: Call) -> Json:
    """Set the replicas from the Scale in the body (PUT)."""
    read_write_options(call, "UpdateOptions")
    body, duplicates = read_object(call, SCALE)
    try:
        scale, unknown = decode(body, schema_of(SCALE))
    except DecodingError as error:
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from None
    problems = check_fields(call, unknown, duplicates)
    if problems:
        raise strict_failure(call, problems)
    check_name(call, scale["metadata"])
    check_namespace(call, scale["metadata"])
    record = call.stored()
    check_uid(call, scale["metadata"], record)
    return _write(call, record, scale, _after_update(call, record, scale))


def patch_scale(call: Call) -> Json:
    """Patch the Scale, and set the replicas from the result (PATCH)."""
    media = read_patch_options(call)
    record = call.stored()
    current = _owned_scale(call, record)
    entries: list[Json] | None = None
    if media == APPLY:
        document, entries = _applied(call, current)
        if call.type.custom and document.get("spec") != current["spec"]:
            raise internal(
                f"failed to convert new object (/{call.route.name}; autoscaling/v1, Kind=Scale) to "
                "proper version: request to convert CR to an invalid group/version: autoscaling/v1"
            )
    else:
        document = patched(call, media, current, schema_of(SCALE))
        _check_type(document)
    try:
        scale, unknown = decode(document, schema_of(SCALE))
    except DecodingError as error:
        raise patch_failure(str(error)) from None
    problems = check_fields(call, unknown, ())
    if problems:
        raise patch_failure(f"strict decoding error: {', '.join(problems)}")
    check_name(call, scale["metadata"])
    if entries is None:
        entries = _after_update(call, record, scale)
    return _write(call, record, scale, entries)


def _check_type(document: Any) -> None:
    if not isinstance(document, dict):
        raise patch_failure("the result is not an object")
    for field, wanted in (("apiVersion", SCALE.api_version), ("kind", SCALE.kind)):
        if document.get(field) and document[field] != wanted:
            raise patch_failure(
                f'no kind "{document.get("kind")}" is registered for version "{document.get("apiVersion")}"'
            )


def _write(call: Call, record: Record, scale: Json, entries: list[Json]) -> Json:
    """Write the replicas of a Scale, and their owners, to the object; return the new Scale."""
    old = representation.shown(call.type, record)
    scale = {**scale, "apiVersion": SCALE.api_version, "kind": SCALE.kind}
    pending = PendingWrite(call, "UPDATE", scale, scale_of(call, old), "scale", SCALE)
    scale = run_mutating(pending) or scale
    replicas = scale["spec"].get("replicas", 0)
    if not call.type.custom:
        causes = validate_contents(scale["metadata"])
        if causes:
            raise invalid_object("Scale", "autoscaling", call.route.name, causes)
    if replicas < 0:
        raise _negative(call, replicas)
    version = scale["metadata"].get("resourceVersion") or old["metadata"]["resourceVersion"]
    obj: Json = copy_json(old)
    _put(obj, _paths(call).replicas, replicas)
    obj["metadata"]["resourceVersion"] = version
    before = old["metadata"].get("managedFields")
    api_version = call.type.kind.api_version
    set_entries(obj, from_scale(before, entries, api_version, _replicas_paths(call)))
    view = SubresourceView(SCALE, lambda shown: scale_of(call, shown))
    updated = update(call, record, obj, "scale", applied=True, view=view)
    return scale_of(call, representation.shown(call.type, updated))


def _negative(call: Call, replicas: int) -> Failure:
    kind, name = call.type.kind, call.route.name
    if call.type.custom:
        field = f".{'.'.join(_paths(call).replicas)}"
        causes = [
            invalid(field, replicas, "should be a non-negative integer"),
            invalid(
                field[1:], replicas, f"{field[1:]} in body should be greater than or equal to 0"
            ),
        ]
        return invalid_object(kind.kind, kind.group, name, causes)
    cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    return invalid_object("Scale", "autoscaling", name, [cause])


# ------------------------------------------------------------------------- ownership


def _replicas_paths(call: Call) -> dict[str, Path | None]:
    """Return the path of the replicas for each version of the kind; None without a scale."""
    kind = call.type.kind
    return {
        each.kind.api_version: (
            None if each.scale is None else tuple(f"f:{name}" for name in each.scale.replicas)
        )
        for each in call.core.registry
        if (each.kind.group, each.kind.plural) == (kind.group, kind.plural)
    }


def _owned_scale(call: Call, record: Record) -> Json:
    """Return the Scale of an object, with the owners of its fields."""
    obj = representation.shown(call.type, record)
    scale = scale_of(call, obj)
    entries = to_scale(obj["metadata"].get("managedFields"), _replicas_paths(call))
    set_entries(scale, entries)
    return scale


def _versions() -> Versions:
    return Versions(SCALE.api_version, schema_of(SCALE))


def _after_update(call: Call, record: Record, scale: Json) -> list[Json]:
    return after_update(
        _owned_scale(call, record),
        {**scale, "apiVersion": SCALE.api_version, "kind": SCALE.kind},
        _versions(),
        manager=manager_of(call),
        now=call.draws.now,
        subresource="scale",
    )


def _applied(call: Call, current: Json) -> tuple[Json, list[Json]]:
    result = after_apply(
        current,
        read_configuration(call),
        _versions(),
        manager=call.field_manager,
        now=call.draws.now,
        force=is_true(call.query.get("force")),
        subresource="scale",
    )
    return result.object, result.managed_fields


# ------------------------------------------------------------------------- the Scale of an object


def scale_of(call: Call, obj: Json) -> Json:
    """Return the Scale of an object."""
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
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def selector_text(selector: Json) -> str:
    """Return a label selector of an object in the syntax of a query."""
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


def _paths(call: Call) -> ScalePaths:
    assert call.type.scale is not None, "the handler checks that the resource has a scale"
    return call.type.scale


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj


def _put(obj: Json, path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    obj[path[-1]] = value


VERBS: Mapping[str, Callable[[Call], Json]] = {
    "get": get_scale,
    "update": replace_scale,
    "patch": patch_scale,
}

"""Edits: decide whether a patch of an existing object has to be sent.

A patch is declared in every pass, but must be sent only if it would change the object, so its
effect is computed here, on the object as it was read:

- merge: ``patch.merge_patch`` gives the exact result.
- json: the operations are applied one by one.  A ``test`` that fails ends the patch without effect:
  its author made it conditional.  A ``remove`` of a missing key has no effect and is not sent,
  because the server would refuse the whole patch.  Every other operation that fails is an error.  A
  patch that would change its own result again, such as one that appends to a list, is an error,
  too: it would grow the object in every pass.  The request tests the resourceVersion, so that it
  takes effect on exactly the object that was decided about.
- strategic: only the server knows the merge keys of lists.  A patch without lists and directives
  has the effect of a merge patch.  For any other, the answer is whether the server was asked
  before: the applicator remembers ``basis_of`` the object that a request left, and does not send
  the same patch to the same content again.  After a restart it is sent once, and changes nothing.

The same memory covers a server that stores other values than it was sent (a quantity in its
shortest form, a default inside a list element).

A merge patch carries the object's uid, so that it cannot change a new object of the same name.  The
status is an exception: the server ignores the uid there, so the patch carries the resourceVersion.
"""

from collections.abc import Mapping
from typing import Any, get_args

import orjson

from myrmidon.api.objects.accessors import Json, metadata, uid_of, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.values.equality import same
from myrmidon.api.values.json_values import NotJsonError, json_value
from myrmidon.errors import MissingObjectError, OutputError
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch
from myrmidon.patch.merge_patch import combine, merge
from myrmidon.sets.outputs.outputs import Edit, Output, PatchType, manager_of
from myrmidon.sets.outputs.requests import is_built_in, write_query

_FORMATS: Mapping[PatchType, Patch] = {
    "merge": Patch.MERGE,
    "json": Patch.JSON,
    "strategic": Patch.STRATEGIC,
}
_COUNTED = ("resourceVersion", "generation", "managedFields")


def edit_body(ref: ObjectRef, body: Any, kind: PatchType) -> Any:
    """Return a copy of the body of a patch; raise ``OutputError`` if it does not fit its type."""
    if kind not in _FORMATS:
        raise OutputError(
            f"{ref}: {kind!r} is not a type of patch.\n"
            f"  fix: use one of {', '.join(map(repr, get_args(PatchType)))}"
        )
    if kind == "strategic" and not is_built_in(ref.kind):
        raise OutputError(
            f"{ref}: custom kinds have no strategic merge patch.\n"
            '  fix: use type="merge" or type="json"'
        )
    wanted, called = (list, "list of operations") if kind == "json" else (dict, "map")
    if not isinstance(body, wanted):
        raise OutputError(
            f"{ref}: the body of a {kind} patch is a {called}, not {type(body).__name__}.\n"
            f"  fix: write a {called}"
        )
    try:
        return json_value(body)
    except NotJsonError as error:
        raise OutputError(
            f"the patch of {ref} cannot be written as JSON: {error}.\n  fix: {error.fix}"
        ) from error


def is_own_edit(output: Output) -> bool:
    """Whether the output changes only labels and annotations, as those of the object of the pass."""
    return (
        isinstance(output, Edit)
        and (output.type, output.subresource, *output.body) == ("merge", "", "metadata")
        and output.body["metadata"].keys() <= {"labels", "annotations"}
    )


def combined(earlier: Edit, later: Edit) -> Edit:
    """Return one patch with the effect of both."""
    match later.type:
        case "json":
            return later._replace(body=[*earlier.body, *later.body])
        case "merge":
            return later._replace(body=combine(earlier.body, later.body))
        case _:
            raise OutputError(
                f"{later.ref} is patched twice by one state.\n  fix: write one strategic patch"
            )


def plan_edit(output: Edit, current: Json | None, *, creating: bool = True) -> Request | None:
    """Return the request that makes the patch effective; None if it would change nothing.

    A missing object is an error, but not while the parent is being deleted (``creating`` False).
    """
    if current is None:
        if creating:
            raise MissingObjectError(str(output.ref))
        return None
    if output.type == "json":
        operations = effective(output.ref, output.body, current)
        if not operations:
            return None
        # The version was read with the object, so the patch is decided about that object alone.
        lock = {"op": "test", "path": "/metadata/resourceVersion", "value": version_of(current)}
        return _request(output, [lock, *operations])
    if _is_plain(output) and same(merge(current, output.body), current):
        return None
    return _request(output, _guarded(output, current))


def basis_of(output: Edit, obj: Json) -> str:
    """Return a hash of the content that the effect of a patch depends on."""
    if output.subresource == "status":
        return _hash((uid_of(obj), obj.get("status")))
    content = {field: value for field, value in obj.items() if field != "status"}
    content["metadata"] = {
        field: value for field, value in metadata(obj).items() if field not in _COUNTED
    }
    return _hash(content)


def effective(ref: ObjectRef, operations: list[Any], current: Json) -> list[Json]:
    """Return the operations to send; none if they would change nothing."""
    after, sent = _applied(ref, operations, current)
    if same(after, current):
        return []
    try:
        stays = same(_applied(ref, operations, after)[0], after)
    except OutputError:
        stays = False
    if not stays:
        raise OutputError(
            f"the JSON patch of {ref} changes its own result: every pass would change the object "
            "again.\n"
            "  fix: put a test before it, such as "
            '{"op": "test", "path": ..., "value": the value before the change}'
        )
    return sent


def _applied(ref: ObjectRef, operations: list[Any], doc: Json) -> tuple[Json, list[Json]]:
    """Return the document after the operations, and those that the server can perform."""
    before, sent = doc, []
    for operation in operations:
        kind = operation.get("op") if isinstance(operation, dict) else None
        try:
            doc = apply_json_patch(doc, [operation])
        except JsonPatchError as error:
            if kind == "test":
                return before, []
            if kind == "remove":
                continue
            raise OutputError(
                f"the JSON patch of {ref} cannot be applied: {error}, in {operation!r}.\n"
                "  fix: correct the path, or add the parent of the field first"
            ) from error
        sent.append(operation)
    return doc, sent


def _is_plain(output: Edit) -> bool:
    """Whether the effect is that of a merge patch: always, but for lists and directives."""
    return output.type == "merge" or not _needs_server(output.body)


def _needs_server(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key.startswith("$") or _needs_server(item) for key, item in value.items())
    return isinstance(value, list)


def _guarded(output: Edit, current: Json) -> Json:
    if output.subresource == "status":
        guard = {"resourceVersion": version_of(current)}
    else:
        guard = {"uid": uid_of(current)}
    return {**output.body, "metadata": {**(output.body.get("metadata") or {}), **guard}}


def _request(output: Edit, body: Any) -> Request:
    query = write_query(manager_of(output))
    return Request(
        Verb.PATCH, output.ref, body, output.subresource, _FORMATS[output.type], query=query
    )


def _hash(value: Any) -> str:
    return str(hash(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))

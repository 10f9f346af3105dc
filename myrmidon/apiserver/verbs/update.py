"""PUT, and the update path that PUT, PATCH, apply and scale share.

``update`` computes field ownership, runs mutating admission, checks the resourceVersion, restores
the fields that only the server writes, prepares and validates the object, runs validating admission
and stores it.  An object that did not change is not written and keeps its resourceVersion.  An
update that leaves a deleted object without finalizers removes the object instead.
"""

from collections.abc import Callable
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.admission.steps import run_mutating, run_validating
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import Failure, bad_request, internal, invalid_object
from myrmidon.apiserver.requests.call import Call, PendingWrite
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.metadata import drop_duplicate_owners, validate_metadata_update
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs import managed_fields
from myrmidon.apiserver.verbs.bodies import decode_object
from myrmidon.apiserver.verbs.create import (
    check_namespace,
    commit,
    create_object,
    stored_form,
)
from myrmidon.apiserver.verbs.list import version_problem
from myrmidon.apiserver.verbs.options import read_write_options

STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_CRDS = "customresourcedefinitions"
# The real server's storage prefix of resources where it is not the plural.
_REGISTRY = {
    "services": "services/specs",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "ingresses": "ingress",
}
# Only the server writes these fields; the values that a client sends are replaced.
_KEPT = ("creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


class SubresourceView(NamedTuple):
    """Another kind in which objects are read and written, such as a Scale."""

    kind: Kind
    of: Callable[[Json], Json]


def replace(call: Call, subresource: str = "") -> tuple[Record, bool]:
    """Replace the object of the path with the body.  Return it, and whether it was created."""
    if not call.route.name:
        raise bad_request("name must be provided")
    read_write_options(call, "UpdateOptions")
    obj = decode_object(call)
    meta = obj.setdefault("metadata", {})
    check_name(call, meta)
    check_namespace(call, meta)
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None:
        if not call.type.strategy.creates_on_update or subresource:
            raise call.not_found()
        if meta.get("uid"):
            raise storage_conflict(
                call, f"UID in precondition: {meta['uid']}, UID in object meta: "
            )
        version = meta.pop("resourceVersion", None)
        record = create_object(call, obj)
        return (_at_version(record, version) if call.dry_run and version else record), True
    check_uid(call, meta, record)
    call.warn(*drop_duplicate_owners(meta))
    return update(call, record, obj, subresource), False


def _at_version(record: Record, version: str) -> Record:
    """Return a dry-run object with the resourceVersion that the client sent."""
    metadata = {**record.value["metadata"], "resourceVersion": version}
    return Record(record.key, record.revision, {**record.value, "metadata": metadata})


def check_name(call: Call, meta: Json) -> None:
    """Raise a 400 if the name of an object is not the name in the path."""
    name = meta.get("name", "")
    if not name:
        raise undeterminable(call)
    if name != call.route.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.route.name})"
        )


def undeterminable(call: Call) -> Failure:
    """Return the 400 for an object without a name."""
    return bad_request(
        f"the name of the object ({call.route.name} based on URL) was undeterminable: name must be provided"
    )


def check_uid(call: Call, meta: Json, record: Record) -> None:
    """Raise a 409 if the body has a uid other than the stored one: it is a precondition."""
    wanted, found = meta.get("uid", ""), record.value["metadata"]["uid"]
    if wanted and wanted != found:
        raise storage_conflict(call, f"UID in precondition: {wanted}, UID in object meta: {found}")


def storage_conflict(call: Call, problem: str) -> Failure:
    """Return a 409 with the message of the real server's storage layer."""
    kind = call.type.kind
    resource = _REGISTRY.get(kind.plural, kind.plural)
    where = f"{kind.group}/{resource}" if call.type.custom or kind.plural == _CRDS else resource
    return call.conflict(
        f"StorageError: invalid object, Code: 4, Key: /registry/{where}/{call.key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: {problem}"
    )


def update(
    call: Call,
    record: Record,
    obj: Json,
    subresource: str = "",
    *,
    applied: bool = False,
    always: bool = False,
    view: SubresourceView | None = None,
) -> Record:
    """Store ``obj``, a private copy, as the new state of a record.

    ``applied``: its managedFields are already computed.  ``always``: write it even if nothing
    changed.  ``view``: what the client writes is a view of the object (a Scale), which admission
    sees; its mutating steps have run already.
    """
    old = representation.shown(call.type, record)
    meta, old_meta = obj["metadata"], old["metadata"]
    if not applied:
        managed_fields.carry(call, obj, old, subresource)
    if view is None:
        obj = run_mutating(PendingWrite(call, "UPDATE", obj, old, subresource)) or obj
        meta = obj["metadata"]
    check_version(call, meta, record)
    _restore(meta, old_meta)
    call.warn(*drop_duplicate_owners(meta, admitted=True))
    call.type.strategy.prepare_update(obj, old, subresource)
    meta = obj["metadata"]
    causes = validate_metadata_update(meta, old_meta)
    causes += call.type.strategy.validate_update(obj, old, subresource)
    if causes:
        raise call.invalid(obj, call.route.name, causes)
    call.warn(*call.type.strategy.warnings(obj, old))
    meta["resourceVersion"] = str(record.revision)
    _validate(call, obj, old, subresource, view)
    if _is_over(call, obj):
        return _finish_deletion(call, record, obj)
    value = None if call.type.is_storage else stored_form(call, obj)
    if identical(obj if value is None else value, record.value) and not always:
        return record
    return commit(call, record.key, obj, value)


def _validate(
    call: Call, obj: Json, old: Json, subresource: str, view: SubresourceView | None
) -> None:
    if view is None:
        run_validating(PendingWrite(call, "UPDATE", obj, old, subresource))
        return
    shown = view.of(obj), view.of(old)
    run_validating(PendingWrite(call, "UPDATE", *shown, subresource, view.kind))


def check_version(call: Call, meta: Json, record: Record) -> None:
    """Raise a 409 if the resourceVersion is stale, and a 422 if the kind requires one."""
    version = meta.get("resourceVersion", "")
    problem = version_problem(version) if version else ""
    if problem:
        raise internal(f"resourceVersion: {problem}")
    if not version or int(version) == 0:
        if call.type.strategy.allows_unconditional_update:
            return
        kind = call.type.kind
        cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_object(kind.plural, kind.group, call.route.name, [cause])
    if int(version) != record.revision:
        raise call.conflict(STALE)


def _restore(meta: Json, old: Json) -> None:
    """Restore the metadata fields that a write cannot change."""
    meta.pop("selfLink", None)
    if not meta.get("uid"):
        meta["uid"] = old["uid"]
    for field in _KEPT:
        wanted = old.get(field)
        if wanted is not None:
            meta[field] = wanted
        elif field in {"creationTimestamp", "generation"}:
            meta.pop(field, None)


def _is_over(call: Call, obj: Json) -> bool:
    """Whether the object is being deleted, and nothing keeps it any longer."""
    meta = obj["metadata"]
    return bool(
        meta.get("deletionTimestamp")
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
        and not call.type.strategy.is_held(obj)
    )


def _finish_deletion(call: Call, record: Record, obj: Json) -> Record:
    """Remove an object whose last finalizer was dropped; the update itself is not stored."""
    if not call.dry_run:
        call.core.store.remove(call.type.stored_as, record.key)
    gone = Record(record.key, record.revision, obj)
    representation.remember(call.type, gone, obj)
    return gone

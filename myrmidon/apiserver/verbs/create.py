"""POST: decode, name, admit, validate and store a new object.

A PUT or an apply that creates an object runs the same steps (``create_object``).  All verbs write
through ``commit``, which converts to the storage version and does not store in a dry run.
"""

from copy import copy

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.admission.steps import run_mutating, run_validating
from myrmidon.apiserver.golang.json import DepthError, settle_numbers
from myrmidon.apiserver.refusals.failures import already_exists, bad_request, internal
from myrmidon.apiserver.requests.call import Call, PendingWrite
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.metadata import drop_duplicate_owners, validate_metadata
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs import managed_fields
from myrmidon.apiserver.verbs.bodies import decode_object
from myrmidon.apiserver.verbs.options import read_write_options

_NAME_BYTES_MAX = 63
_SUFFIX_BYTES = 5


def create(call: Call) -> Record:
    """Create the object in the body."""
    read_write_options(call, "CreateOptions")
    return create_object(call, decode_object(call))


def create_object(call: Call, obj: Json, *, applied: bool = False) -> Record:
    """Create a decoded object; also used by a PUT or apply of an object that does not exist."""
    meta = obj.setdefault("metadata", {})
    check_namespace(call, meta)
    call.warn(*drop_duplicate_owners(meta))
    if not applied:
        managed_fields.begin(call, obj)
    admitted = run_mutating(PendingWrite(call, "CREATE", obj, None))
    if admitted is not None and admitted is not obj:
        obj = admitted
        meta = obj["metadata"]
        check_namespace(call, meta)
    _name(call, meta)
    _fill(call, obj)
    call.warn(*drop_duplicate_owners(meta, admitted=True))
    call.type.strategy.prepare_create(obj)
    causes = validate_metadata(
        meta, call.type.strategy.name_problems, namespaced=call.type.kind.namespaced
    )
    causes += call.type.strategy.validate_create(obj)
    if causes:
        raise call.invalid(obj, meta.get("name", ""), causes)
    call.warn(*call.type.strategy.warnings(obj, None))
    run_validating(PendingWrite(call, "CREATE", obj, None))
    if not call.dry_run and _is_version(meta.get("resourceVersion", "")):
        raise internal("resourceVersion should not be set on objects to be created")
    key = call.type.key(meta.get("namespace", ""), meta["name"])
    existing = call.core.store.get(call.type.stored_as, key)
    if existing is not None:
        raise _exists(call, existing)
    return commit(call, key, obj)


def check_namespace(call: Call, meta: Json) -> None:
    """Set the namespace of the path; raise a 400 if the body has another one.

    Cluster-scoped objects lose their namespace.
    """
    if not call.type.kind.namespaced:
        meta.pop("namespace", None)
        return
    wanted = call.route.namespace
    if meta.get("namespace", wanted) != wanted:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = wanted


def _name(call: Call, meta: Json) -> None:
    prefix = meta.get("generateName")
    if prefix and not meta.get("name"):
        meta["name"] = prefix[: _NAME_BYTES_MAX - _SUFFIX_BYTES] + call.draws.suffix()


def _fill(call: Call, obj: Json) -> None:
    """Set the metadata that only the server writes."""
    meta = obj["metadata"]
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
        meta.pop(field, None)
    meta["uid"] = call.draws.uid()
    meta["creationTimestamp"] = call.timestamp


def _is_version(text: str) -> bool:
    """Whether a resourceVersion names a revision; ``0`` and texts that are not numbers are ignored."""
    return text.isdecimal() and text.strip("0") != ""


def _exists(call: Call, existing: Record) -> Exception:
    kind = call.type.kind
    failure = already_exists(kind.plural, kind.group, existing.value["metadata"]["name"])
    if existing.value["metadata"].get("deletionTimestamp"):
        failure.message = f"object is being deleted: {failure.message}"
    return failure


def stored_form(call: Call, obj: Json) -> Json:
    """Return an object as it is stored: in the storage version, with numbers as they are read back."""
    resource_type = call.type
    if resource_type.custom:
        try:
            settle_numbers(obj)
        except DepthError as error:
            raise bad_request(f"the object cannot be stored: {error}") from None
    return obj if resource_type.is_storage else resource_type.strategy.store(copy(obj))


def commit(call: Call, key: str, obj: Json, value: Json | None = None) -> Record:
    """Store an object in its storage version; in a dry run, return it without storing it.

    ``value`` is its stored form, if that is known.
    """
    resource_type = call.type
    value = stored_form(call, obj) if value is None else value
    # A webhook that converts the response must have answered before anything is written.
    shown = resource_type.strategy.read(value) if _is_shown_by_webhook(resource_type) else value
    if call.dry_run:
        record = Record(key, 0, value)
    else:
        if call.charges:
            _charge(call)
        record = call.core.store.put(resource_type.stored_as, key, value)
    if resource_type.is_storage:
        representation.remember(resource_type, record, value)
    elif shown is not value and not call.dry_run:
        shown["metadata"]["resourceVersion"] = str(record.revision)
        representation.remember(resource_type, record, shown)
    return record


def _charge(call: Call) -> None:
    """Write what the object uses to the status of its ResourceQuotas, just before the object."""
    quotas = call.core.registry.find("", "v1", "resourcequotas")
    for record, status in call.charges:
        write_status(call, quotas, record, status)
    call.charges = ()


def write_status(call: Call, found: ResourceType | None, record: Record, status: Json) -> None:
    """Write the status of another built-in object as the server itself, without admission."""
    assert found is not None, "a built-in resource"
    request = HttpRequest("PUT", "", (), {"user-agent": "kube-apiserver"}, b"")
    obj = {**record.value, "metadata": copy(record.value["metadata"]), "status": status}
    writer = Call(call.core, request, {}, call.user, call.route, found, call.draws)
    managed_fields.carry(writer, obj, record.value, "status")
    call.core.store.put(found.stored_as, record.key, obj)


def _is_shown_by_webhook(resource_type: ResourceType) -> bool:
    return resource_type.strategy.is_converted and not resource_type.is_storage

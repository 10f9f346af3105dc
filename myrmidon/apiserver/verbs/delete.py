"""DELETE of one object and of a collection: preconditions, finalizers, grace periods.

An object without finalizers and without a grace period is removed at once.  Any other object gets a
``deletionTimestamp``; it is removed by the update that drops its last finalizer, or by a delete
with a grace period of 0.  A propagation policy is stored as a finalizer (``orphan`` or
``foregroundDeletion``), on which the garbage collector acts.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.admission.steps import run_mutating, run_validating
from myrmidon.apiserver.refusals.causes import invalid, not_supported
from myrmidon.apiserver.refusals.failures import bad_request, conflict
from myrmidon.apiserver.requests.call import Call, PendingWrite
from myrmidon.apiserver.requests.outcomes import WaitFor
from myrmidon.apiserver.requests.routing import is_true
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.metadata import FOREGROUND, ORPHAN
from myrmidon.apiserver.resources.strategy import Strategy
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.bodies import parse, read_body, read_object_type
from myrmidon.apiserver.verbs.create import commit
from myrmidon.apiserver.verbs.list import ListPage, list_page
from myrmidon.apiserver.verbs.options import dry_run_causes, options_failure, parse_int

_POLICIES = ("Background", "Foreground", "Orphan")


@dataclass(slots=True)
class DeleteOptions:
    """The options of a delete.  ``uid`` and ``version`` are preconditions; ``""`` never holds."""

    grace_seconds: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str | None = None  # precondition
    version: str | None = None  # precondition
    dry_run: bool = False


def read_options(call: Call) -> DeleteOptions:
    """Return the options in the body, or those of the query if there is no body."""
    text = read_body(call)
    raw = _from_body(call, text) if text.strip() else _from_query(call)
    causes = dry_run_causes(raw.get("dryRun") or [])
    policy, orphan = raw.get("propagationPolicy"), raw.get("orphanDependents")
    if policy is not None and orphan is not None:
        causes.append(
            invalid(
                "propagationPolicy",
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )
        )
    elif policy is not None and policy not in _POLICIES:
        causes.append(not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    if causes:
        raise options_failure("DeleteOptions", causes)
    preconditions = raw.get("preconditions") or {}
    options = DeleteOptions(
        grace_seconds=raw.get("gracePeriodSeconds"),
        policy=policy or "",
        orphan=orphan,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        dry_run=bool(raw.get("dryRun")),
    )
    call.dry_run = options.dry_run
    call.delete_options = {name: raw[name] for name in _OPTION_NAMES if raw.get(name)}
    return options


_OPTION_NAMES = (
    "gracePeriodSeconds", "preconditions", "orphanDependents", "propagationPolicy", "dryRun"
)  # fmt: skip


_OPTION_TYPES: dict[str, tuple[type, ...]] = {
    "dryRun": (list,),
    "gracePeriodSeconds": (int,),
    "propagationPolicy": (str,),
    "orphanDependents": (bool,),
    "preconditions": (dict,),
    "apiVersion": (str,),
    "kind": (str,),
}


def _from_body(call: Call, text: bytes) -> Json:
    try:
        raw = parse(text, read_object_type(call))
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(raw, dict):
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal value"
        )
    for field, types in _OPTION_TYPES.items():
        value = raw.get(field)
        wrong_bool = isinstance(value, bool) and bool not in types
        if value is not None and (wrong_bool or not isinstance(value, types)):
            raise bad_request(f"json: cannot unmarshal into Go struct field DeleteOptions.{field}")
    for field in ("uid", "resourceVersion"):
        if not isinstance((raw.get("preconditions") or {}).get(field), str | None):
            raise bad_request(f"json: cannot unmarshal into Go struct field Preconditions.{field}")
    kind = raw.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        raise bad_request(
            f'no kind "{kind}" is registered for version "{raw.get("apiVersion") or "meta.k8s.io/v1"}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    return raw


def _from_query(call: Call) -> Json:
    query = call.query
    raw: dict[str, Any] = {
        "dryRun": [value for key, value in call.request.query if key == "dryRun"],
        "propagationPolicy": query.get("propagationPolicy") or None,
        "gracePeriodSeconds": parse_int(query, "gracePeriodSeconds"),
        "preconditions": {key: query[key] for key in ("uid", "resourceVersion") if query.get(key)},
    }
    if query.get("orphanDependents"):
        raw["orphanDependents"] = is_true(query["orphanDependents"])
    return raw


def delete(call: Call) -> tuple[Record, bool]:
    """Delete the object that the path names.  Return it, and whether it was removed."""
    options = read_options(call)
    return delete_record(call, call.stored(), options)


def delete_collection(call: Call) -> ListPage:
    """Delete the objects that the query selects, one after the other; return them as they were before.

    Admission is asked about each of them.  While the request waits for the reply of a webhook, the
    objects before are deleted already, as on the real server; the run after that goes on from there.
    """
    options = read_options(call)
    if call.draws.collection is None:
        page = list_page(call)
        if isinstance(page, WaitFor):
            raise page.failure
        call.draws.collection = page, list(page.records)
    page, waiting = call.draws.collection
    sent = call.delete_options
    while waiting:
        call.delete_options = sent
        current = call.core.store.get(call.type.stored_as, waiting[0].key)
        if current is not None:
            delete_record(call, current, options)
        del waiting[0]
    found: ListPage = page
    return found


def _admit(call: Call, old: Json, grace: int | None) -> None:
    """Run all admission steps; they see the grace period that the object gets."""
    if grace is not None:
        call.delete_options = {**(call.delete_options or {}), "gracePeriodSeconds": grace}
    run_mutating(PendingWrite(call, "DELETE", None, old))
    run_validating(PendingWrite(call, "DELETE", None, old))


def _is_under_way(strategy: Strategy, old: Json, options: DeleteOptions) -> bool:
    """Whether the object is already being deleted, and this delete changes nothing about that."""
    present = old["metadata"].get("deletionGracePeriodSeconds")
    if not old["metadata"].get("deletionTimestamp") or not present:
        return False
    wanted = strategy.grace_seconds(old, options.grace_seconds)
    return wanted is not None and wanted >= present


def delete_record(
    call: Call, record: Record, options: DeleteOptions, *, admit: bool = True
) -> tuple[Record, bool]:
    """Delete an object, or mark it if a finalizer or a grace period keeps it.

    Return the object, and whether it was removed.  ``admit``: ask the admission steps.
    """
    old = representation.shown(call.type, record)
    strategy = call.type.strategy
    call.warn(*strategy.delete_warnings(options.policy))
    _check_preconditions(call, old, options)
    if admit and not _is_under_way(strategy, old, options):
        _admit(call, old, strategy.grace_seconds(old, options.grace_seconds))
    obj: Json = {**old, "metadata": copy(old["metadata"])}
    meta = obj["metadata"]
    _set_finalizers(meta, options, strategy)
    already = bool(meta.get("deletionTimestamp"))
    grace = strategy.grace_seconds(old, options.grace_seconds)
    if not already:
        strategy.mark_deleting(obj, call.timestamp)
        meta = obj["metadata"]
    held = bool(meta.get("finalizers")) or strategy.is_held(obj) or bool(grace)
    if not held:
        gone = Record(record.key, record.revision, old)
        if not call.dry_run:
            gone = call.core.store.remove(call.type.stored_as, record.key)
        return (gone if grace is None else _with_deletion_marks(call, gone)), True
    if not already and strategy.deletes_gracefully:
        _mark(meta, call.timestamp, grace or 0)
    elif not already:
        meta["deletionTimestamp"] = call.timestamp
    elif grace is not None and grace < (meta.get("deletionGracePeriodSeconds") or 0):
        meta["deletionGracePeriodSeconds"] = grace
    if identical(obj, old):
        return record, False
    return commit(call, record.key, obj), False


def _mark(meta: Json, timestamp: str, grace: int) -> None:
    meta["deletionTimestamp"] = timestamp
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1


def _with_deletion_marks(call: Call, gone: Record) -> Record:
    """Return the response for an object with a grace period that was removed at once.

    As on the real server, it has a deletionTimestamp and a grace period of 0.
    """
    meta = copy(gone.value["metadata"])
    if meta.get("deletionTimestamp"):
        meta["deletionGracePeriodSeconds"] = 0
    else:
        _mark(meta, call.timestamp, 0)
    return Record(gone.key, gone.revision, {**gone.value, "metadata": meta})


def _check_preconditions(call: Call, old: Json, options: DeleteOptions) -> None:
    kind, meta = call.type.kind, old["metadata"]
    if options.uid is not None and options.uid != meta["uid"]:
        raise conflict(
            kind.kind,
            kind.group,
            meta["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({meta['uid']}). The object might have been deleted and then recreated",
        )
    if options.version is not None and options.version != meta["resourceVersion"]:
        raise conflict(
            kind.kind,
            kind.group,
            meta["name"],
            f"the ResourceVersion in the precondition ({options.version}) does not match the "
            f"ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified",
        )


def _set_finalizers(meta: Json, options: DeleteOptions, strategy: Strategy) -> None:
    """Set the finalizer that tells the garbage collector what to do with the dependents."""
    if not strategy.collects_garbage:
        return
    present = meta.get("finalizers", [])
    wanted = [name for name in present if name not in {ORPHAN, FOREGROUND}]
    standing = next((name for name in present if name in {ORPHAN, FOREGROUND}), "")
    if options.orphan is not None:
        standing = ORPHAN if options.orphan else ""
    elif options.policy:
        standing = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.policy, "")
    elif not standing and strategy.orphans_by_default:
        standing = ORPHAN
    if standing:
        wanted.append(standing)
    if sorted(wanted) == sorted(present):
        return
    if wanted:
        meta["finalizers"] = wanted
    else:
        meta.pop("finalizers", None)


def success(call: Call, obj: Json) -> Json:
    """Return the Status for an object that was removed."""
    kind = call.type.kind
    details = {
        "name": obj["metadata"]["name"],
        "group": kind.group,
        "kind": kind.plural,
        "uid": obj["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }

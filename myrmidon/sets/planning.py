"""Decide which request, if any, brings an object to the state that an output declares.

``plan`` takes an output, the current object (None if it does not exist) and the parent, and returns
one request, or None if the object is as declared.  It does no I/O: the applicator reads the object,
calls ``plan``, sends the request, and handles its answer.  These rules hold for every request:

- Nothing is sent for an object that is already as declared.
- A merge patch carries what the state declared, not a difference from a read that may be stale.
- An object of another parent is not written, and neither is an object without a parent that this
  controller did not write, unless its adoption was asked for (``sets.ownership.adoption``).  A patch is an
  exception: its author named the object, which need not be a child (``sets.outputs.edits``).
- Owner references to other objects are kept.
- A resourceVersion that the output asks for (``optimistic_lock``) is in every request.  Where a
  request replaces a list that others change, too, ``plan`` adds the version that was read; after a
  conflict the applicator may read the object again and retry.
- A request that changes or deletes an object carries its uid or its resourceVersion, so that it
  cannot change a new object that was created with the same name since the read.

Comparing is not always enough to see whether the object is as declared (``patch.covering`` says
when).  Then the request also writes a fingerprint of the declaration, the *mark*, as an annotation
``applied.myrmidon.dev/<controller>.<state>``.  A changed declaration has another mark, so the
object is written again even though the comparison finds no difference.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    finalizers_of,
    is_deleting,
    metadata,
    uid_of,
    version_of,
)
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.errors import MissingLockError, TerminatingError
from myrmidon.patch.covering import covers_object, leaves_doubt, shortened
from myrmidon.patch.merge_patch import combine, without_nulls
from myrmidon.patch.server_filled import exceeds
from myrmidon.sets.fingerprints import fingerprint, next_mark, settled_mark
from myrmidon.sets.outputs.edits import plan_edit
from myrmidon.sets.outputs.outputs import (
    Apply,
    Delete,
    Edit,
    Output,
    Propagation,
    Release,
    manager_for,
)
from myrmidon.sets.outputs.requests import Query, is_built_in, write_query
from myrmidon.sets.ownership.adoption import is_child_of, refuse_others
from myrmidon.sets.ownership.owner_references import (
    PARENT,
    PARENT_UID,
    Parent,
    has_owners,
    is_tracked,
    owners_wanted,
    owners_with,
)
from myrmidon.sets.ownership.releasing import plan_release
from myrmidon.sets.ownership.undeclared import DECLARED, record_of, removals

_POD = kinds.POD[:3]
_NOT_DECLARED = frozenset({"ownerReferences", "resourceVersion", "uid"})
APPLIED = "applied.myrmidon.dev"  # the prefix of the annotation that holds the mark

# As resourceVersion in a server-side apply: ignored if the object is created, a conflict if it
# exists after all.
_NEVER_STORED = "1"


def plan(
    output: Output,
    current: Json | None,
    parent: Parent,
    *,
    creating: bool = True,
    is_child: bool = False,
) -> Request | None:
    """Return the request that makes the object as ``output`` declares it; None if it already is.

    ``creating`` is False while the parent is being deleted: existing objects may be changed, but
    none is created.  ``is_child`` is True if the caller has seen that the controller reference of
    ``current`` names the parent, so that the controller may write it.
    """
    if isinstance(output, Release):
        return plan_release(output, current, parent)
    if current is not None and not is_child and not (isinstance(output, Edit) and not output.owned):
        refuse_others(current, output, parent)
    if isinstance(output, Edit):
        return plan_edit(output, current, creating=creating)
    if isinstance(output, Delete):
        return plan_delete(output.ref, current, output.propagation)
    return _plan_apply(output, current, parent, creating=creating)


def _plan_apply(
    output: Apply, current: Json | None, parent: Parent, *, creating: bool
) -> Request | None:
    if output.options.optimistic_lock and not version_of(output.manifest):
        raise MissingLockError(str(output.ref))
    if current is None:
        return _plan_absent(output, parent) if creating else None
    if is_deleting(current):
        if creating:
            raise TerminatingError(str(output.ref))
        return None
    if output.options.create_only:
        return None
    if output.options.server_side:
        return _plan_server_side(output, current, parent)
    if output.options.as_update:
        return _plan_update(output, current, parent)
    return _plan_merge(output, current, parent)


def plan_create(output: Apply, parent: Parent) -> Request:
    """Return the request that creates the output as a new object."""
    declared, mark = _declared(output, parent)
    body = _with_owners(_marked(output, declared, mark), owners_wanted(output, parent))
    body = _without_nulls(output, body)
    if output.options.as_update and not is_built_in(output.ref.kind):
        body = _marked(output, body, settled_mark(body, 1))
    return Request(Verb.CREATE, output.ref, body, query=_query_of(output))


def plan_delete(
    ref: ObjectRef,
    current: Json | None,
    propagation: Propagation = "Background",
    *,
    unchanged: bool = False,
) -> Request | None:
    """Return the request that deletes exactly this object; None if it is gone or terminating.

    ``unchanged``: only if it still has the resourceVersion of ``current``.
    """
    if current is None or is_deleting(current):
        return None
    preconditions = {"uid": uid_of(current)}
    if unchanged:
        preconditions["resourceVersion"] = version_of(current)
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": preconditions,
        "propagationPolicy": propagation,
    }
    return Request(Verb.DELETE, ref, body)


# ---------------------------------------------------------------------------- strategies


def _plan_absent(output: Apply, parent: Parent) -> Request:
    if output.options.optimistic_lock:
        declared, mark = _declared(output, parent)
        # A locked object that is gone must not be created: the server refuses this with 404 or 409.
        return _merge(output, _locked(_marked(output, declared, mark), output.manifest))
    created = plan_create(output, parent)
    if output.options.server_side:
        return _server_side(output, _with_metadata(created.body, resourceVersion=_NEVER_STORED))
    return created


def _plan_merge(output: Apply, current: Json, parent: Parent) -> Request | None:
    seen = _mark_on(current, output)
    declared, mark = _declared(output, parent, seen)
    owners = owners_wanted(output, parent)
    adopting = not has_owners(current, owners)
    removed: Json = {}
    if output.options.remove_undeclared:
        removed = removals(output, declared, current, _note_key(DECLARED, output.author))
        declared = combine(declared, removed)
    if not adopting and mark == seen and _holds(output, declared, current):
        return None
    # With the uid, the server refuses the patch if the object was deleted and created again since.
    declared = _with_metadata(_marked(output, declared, mark), uid=uid_of(current))
    if adopting:
        # The list is replaced as a whole, so it must not have changed since it was read.
        declared = _locked(_with_owners(declared, owners_with(owners, current)), current)
    elif removed or (is_tracked(output) and not is_child_of(current, parent)):
        # Another writer may take a field that is removed, or another parent may adopt the object.
        declared = _locked(declared, current)
    if output.options.optimistic_lock:
        declared = _locked(declared, output.manifest)
    return _merge(output, declared)


def _plan_update(output: Apply, current: Json, parent: Parent) -> Request | None:
    seen = _mark_on(current, output)
    declared, mark = _declared(output, parent, seen)
    declared, settled = _without_nulls(output, declared), False
    owners = owners_wanted(output, parent)
    if not is_built_in(output.ref.kind):
        mark = next_mark(current, declared, seen, output.ref.kind)
        settled = mark == seen
    marked = _marked(output, declared, mark)
    if (
        has_owners(current, owners)
        and mark == seen
        and _holds(output, declared, current)
        and not exceeds(current, marked, output.ref.kind, settled=settled)
    ):
        return None
    # Keep the owner references and finalizers of others.
    claims = {"ownerReferences": owners_with(owners, current), "finalizers": finalizers_of(current)}
    kept = {field: claim for field, claim in claims.items() if claim}
    body = {**marked, "metadata": {**kept, **marked["metadata"]}}
    lock = output.manifest if output.options.optimistic_lock else current
    return Request(Verb.UPDATE, output.ref, _locked(body, lock), query=_query_of(output))


def _plan_server_side(output: Apply, current: Json, parent: Parent) -> Request | None:
    seen = _mark_on(current, output)
    declared, mark = _declared(output, parent, seen)
    declared = _without_nulls(output, declared)
    owners = owners_wanted(output, parent)
    if has_owners(current, owners) and mark == seen and _holds(output, declared, current):
        return None
    # Owner references are a list keyed by uid: the server merges ours with the others.
    body = _with_owners(_marked(output, declared, mark), owners)
    # With the uid, the server refuses the apply if the object is gone or was created again since.
    body = _with_metadata(body, uid=uid_of(current))
    if output.options.optimistic_lock:
        body = _locked(body, output.manifest)
    elif not is_child_of(current, parent):
        body = _locked(body, current)
    return _server_side(output, body)


# -------------------------------------------------------------------------------- bodies


def _declared(output: Apply, parent: Parent, seen: str | None = None) -> tuple[Json, str | None]:
    """Return the declaration, with the tracking label and annotation if needed, and its mark.

    It is without resourceVersion, uid and owner references, which each strategy adds in its own
    way.  Old marks are dropped: an object that a state read, changed and applied again has them.
    """
    meta = dict(metadata(output.manifest))
    if not _NOT_DECLARED.isdisjoint(meta):  # of an object that a state has read
        for field in _NOT_DECLARED:
            if field != "ownerReferences" or output.options.owner_refs:
                meta.pop(field, None)
    if meta.get("annotations"):
        meta["annotations"] = {
            key: value
            for key, value in meta["annotations"].items()
            if not key.startswith((APPLIED, DECLARED))
        }
    declared = {**output.manifest, "metadata": meta}
    mark = _mark(output, declared, seen)
    if output.options.remove_undeclared:
        note = {_note_key(DECLARED, output.author): record_of(output, declared)}
        meta["annotations"] = {**(meta.get("annotations") or {}), **note}
    if is_tracked(output):
        meta["labels"] = {**(meta.get("labels") or {}), PARENT_UID: parent.uid}
        meta["annotations"] = {**(meta.get("annotations") or {}), PARENT: parent.tracking_name}
    return declared, mark


def _mark(output: Apply, declared: Json, seen: str | None) -> str | None:
    """Return the declaration's mark; None if a comparison is enough.

    An object that has a mark always gets the current one, because a stale mark would be wrong.
    """
    if (
        output.options.server_side
        or seen is not None
        or leaves_doubt(declared, built_in=is_built_in(output.ref.kind))
    ):
        return fingerprint(declared)
    return None


def _mark_on(current: Json, output: Apply) -> str | None:
    return annotations_of(current).get(_note_key(APPLIED, output.author))


def _marked(output: Apply, declared: Json, mark: str | None) -> Json:
    if mark is None:
        return declared
    marks = {
        **(metadata(declared).get("annotations") or {}),
        _note_key(APPLIED, output.author): mark,
    }
    return _with_metadata(declared, annotations=marks)


@cache
def _note_key(prefix: str, author: str) -> str:
    """Return the name of an annotation for a state's notes; each state has its own."""
    name = author or "output"
    if len(name) > 63:  # the longest name of an annotation
        name = f"{name[:46]}-{fingerprint({'author': name})}"
    return f"{prefix}/{name}"


def _holds(output: Apply, declared: Json, current: Json) -> bool:
    if output.ref.kind[:3] == _POD:  # on whichever cluster
        current = shortened(current, declared)
    return covers_object(current, declared, built_in=is_built_in(output.ref.kind))


def _with_owners(declared: Json, owners: list[Json]) -> Json:
    return _with_metadata(declared, ownerReferences=owners) if owners else declared


def _locked(body: Json, seen: Mapping[str, Any]) -> Json:
    return _with_metadata(body, resourceVersion=version_of(seen))


def _with_metadata(body: Json, **fields: Any) -> Json:
    return {**body, "metadata": {**body["metadata"], **fields}}


def _without_nulls(output: Apply, declared: Json) -> Json:
    """Return the declaration without nulls, which mean "remove the field" only in a merge patch.

    What was added to the manifest (owner references, marks) holds no nulls.
    """
    if b"null" not in (output.text or orjson.dumps(output.manifest)):
        return declared  # nearly always; encoding is faster than walking the declaration
    found: Json = without_nulls(declared)
    return found


def _merge(output: Apply, body: Json) -> Request:
    return Request(Verb.PATCH, output.ref, body, query=_query_of(output))


def _server_side(output: Apply, body: Json) -> Request:
    force = (("force", "true" if output.options.force else "false"),)
    query = (*_query_of(output), *force)
    return Request(Verb.PATCH, output.ref, body, patch=Patch.APPLY, query=query)


def _query_of(output: Apply) -> Query:
    options = output.options
    manager = manager_for(output.author, options.field_manager)
    return write_query(manager, options.field_validation)

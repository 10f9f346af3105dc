"""A status write that needs no lock: a JSON patch that touches our own fields and conditions only.

A merge patch replaces the whole list of conditions, which other writers share, so it is bound to a
resourceVersion; and an object that another party writes several times a second always has a newer
one.  The JSON patch made here holds, whatever else changes on the object, because each operation
depends on nothing but the place that it changes:

- the uid is tested, so that the patch cannot land on a re-created namesake;
- a condition of ours is replaced or removed where its type stands (tested), and a new one is
  appended; conditions of other writers are not mentioned;
- every other status field is set by itself, inside of maps key by key.

It fails (422) only if the conditions were reordered, or a map that it writes into disappeared, after
the object was read; then the object is read again and the patch is made anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from myrmidon.api.objects import Json, uid_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Patch, Request, Verb
from myrmidon.fsm.status import changes_of
from myrmidon.patch.merge_patch import merge

_STATUS = "/status"


def status_edits(ref: ObjectRef, obj: Mapping[str, Any], status: Json) -> Request | None:
    """The status write as a JSON patch without a lock; None if nothing differs."""
    changes = changes_of(obj, status)
    if not changes:
        return None
    current = obj.get("status")
    operations = [_test("/metadata/uid", uid_of(obj))]
    if not isinstance(current, dict):
        operations += [_test(_STATUS, current), _add(_STATUS, merge({}, changes))]
    else:
        for field, value in changes.items():
            operations += _edits(f"{_STATUS}/{_escaped(field)}", current.get(field), value)
    return Request(Verb.PATCH, ref, operations, subresource="status", patch=Patch.JSON)


def _edits(path: str, current: Any, wanted: Any) -> Iterator[Json]:
    """The operations that merge a value into what is there."""
    if path == f"{_STATUS}/conditions" and isinstance(current, list):
        yield from _condition_edits(path, current, wanted)
    elif isinstance(wanted, dict) and isinstance(current, dict):
        for key, value in wanted.items():
            yield from _edits(f"{path}/{_escaped(key)}", current.get(key), value)
    elif wanted is not None:
        if path == f"{_STATUS}/conditions":
            yield _test(path, current)  # another writer may begin the list before us
        yield _add(path, merge(None, wanted))
    elif current is not None:
        yield {"op": "remove", "path": path}


def _condition_edits(path: str, current: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Json]:
    """From the list that was read to the one that ``conditions_after`` made of it.

    That keeps the order: what survives comes first, in its old order, and what is new comes last.
    Removals come at the end and backwards, so that no index moves before it is used.
    """
    left, removed = list(wanted), []
    for index, old in enumerate(current):
        new = left[0] if left else None
        if left and old == new:
            del left[0]
        elif isinstance(new, dict) and isinstance(old, dict) and old.get("type") == new["type"]:
            del left[0]
            yield _test(f"{path}/{index}/type", new["type"])
            yield {"op": "replace", "path": f"{path}/{index}", "value": new}
        else:
            removed.append((index, old))
    for new in left:
        yield _add(f"{path}/-", new)
    for index, old in reversed(removed):
        named = old.get("type") if isinstance(old, dict) else None
        yield _test(f"{path}/{index}/type", named)
        yield {"op": "remove", "path": f"{path}/{index}"}


def _test(path: str, value: Any) -> Json:
    return {"op": "test", "path": path, "value": value}


def _add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")

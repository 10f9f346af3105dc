"""Write the status without a lock: a JSON patch that changes only our own fields and conditions.

A merge patch replaces the whole list of conditions, which other writers share, so it has to carry
the resourceVersion that was read (``fsm.status.status``).  On an object that another client writes several
times a second, that version is always stale and each attempt is a conflict.  The JSON patch made
here needs no resourceVersion, because each operation depends only on the value that it changes:

- the uid is tested, so that the patch cannot change a new object with the same name;
- a condition of ours is replaced or removed by index, after a test that its type is still at that
  index; a new one is appended; conditions of other writers are not mentioned;
- every other status field is set on its own, and maps are set key by key.

The server refuses the patch (422) only if, after the object was read, the conditions were
reordered, the list of conditions was created, or a map that the patch writes into was removed.  The
caller then reads the object again and builds a new patch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from myrmidon.api.objects.accessors import Json, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.fsm.status.status import changes_of
from myrmidon.patch.merge_patch import merge

_STATUS = "/status"


def status_edits(ref: ObjectRef, obj: Mapping[str, Any], status: Json) -> Request | None:
    """Return the JSON patch of the status fields that differ from the object; None if none does."""
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
    """Yield the operations that merge ``wanted`` into the current value at ``path``."""
    if path == f"{_STATUS}/conditions" and isinstance(current, list):
        yield from _condition_edits(path, current, wanted)
    elif isinstance(wanted, dict) and isinstance(current, dict):
        for key, value in wanted.items():
            yield from _edits(f"{path}/{_escaped(key)}", current.get(key), value)
    elif wanted is not None:
        if path == f"{_STATUS}/conditions":
            yield _test(path, current)  # another writer may create the list before us
        yield _add(path, merge(None, wanted))
    elif current is not None:
        yield {"op": "remove", "path": path}


def _condition_edits(path: str, current: Sequence[Any], wanted: Sequence[Any]) -> Iterator[Json]:
    """Yield the operations that turn the current list into the one of ``conditions_after``.

    That function keeps the order of existing conditions and appends new ones, so one pass over the
    list is enough.  Removals come last and from the end of the list, so that the indexes of the
    other operations stay valid.
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

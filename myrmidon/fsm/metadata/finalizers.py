"""Add and remove our finalizer without losing an entry of another controller.

All controllers with cleanup work share the list ``metadata.finalizers``.  A merge patch replaces
the whole list with the one that was read, and so drops an entry that was added in between.  The
JSON patches made here change our entry alone:

- our entry is appended to the list, or the list is created if a test shows that there is none;
- our entry is removed by index, after a test that it is still at that index;
- the uid is tested, so that no patch changes a new object that has the same name.

No resourceVersion is needed: other changes of the object do not matter.  The server refuses the
patch (422) if the list was created, removed or reordered since the read, or the uid is another one;
the caller then reads the object again and retries.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json, finalizers_of, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb

_PATH = "/metadata/finalizers"


def add_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """Return the request that adds our finalizer."""
    if finalizers_of(obj):
        edits: list[Json] = [{"op": "add", "path": f"{_PATH}/-", "value": finalizer}]
    else:  # a missing list passes the test against null
        edits = [_test(_PATH, None), {"op": "add", "path": _PATH, "value": [finalizer]}]
    return _edit(ref, obj, edits)


def remove_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """Return the request that removes our finalizer and no other.

    It is removed twice if two processes added it at the same time.  The last entry is removed
    first, so that the indexes of the others stay valid.
    """
    edits: list[Json] = []
    for index, present in reversed(list(enumerate(finalizers_of(obj)))):
        if present == finalizer:
            path = f"{_PATH}/{index}"
            edits += [_test(path, finalizer), {"op": "remove", "path": path}]
    return _edit(ref, obj, edits)


def _edit(ref: ObjectRef, obj: Mapping[str, Any], edits: list[Json]) -> Request:
    return Request(Verb.PATCH, ref, [_test("/metadata/uid", uid_of(obj)), *edits], patch=Patch.JSON)


def _test(path: str, value: Any) -> Json:
    return {"op": "test", "path": path, "value": value}

"""Edits of ``metadata.finalizers`` that cannot lose another party's entry.

Every party that has something to clean up shares the list.  A merge patch would replace it with what
we believed it to be.  A JSON patch changes our entry alone: an entry is appended, and an entry is
removed only where it stands (tested).  The uid is tested, too, so that no edit lands on a re-created
namesake.  An edit is refused (422) if the list began, ended or moved under it; it holds, whatever
else changes on the object.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects import Json, finalizers_of, uid_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Patch, Request, Verb

_PATH = "/metadata/finalizers"


def add_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """The request that appends our finalizer to the list, or begins the list."""
    if finalizers_of(obj):
        edits: list[Json] = [{"op": "add", "path": f"{_PATH}/-", "value": finalizer}]
    else:  # a missing list passes the test against null
        edits = [_test(_PATH, None), {"op": "add", "path": _PATH, "value": [finalizer]}]
    return _edit(ref, obj, edits)


def remove_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """The request that removes our finalizer and no other.

    Two processes that added it at the same time may have left it twice; backwards, so that no
    index moves before it is used.
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

"""Edits of ``metadata.finalizers`` that can not lose anybody else's entry.

The list is shared by everybody who has something to clean up.  A merge patch would replace it with
what we believed it to be; a JSON patch that first tests the list, and the uid, is refused when
either is not what we saw.
"""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects import Json, finalizers_of, uid_of
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Patch, Request, Verb

_PATH = "/metadata/finalizers"


def add_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """The request that adds our finalizer to what is there."""
    present = finalizers_of(obj)
    edit = (
        {"op": "add", "path": f"{_PATH}/-", "value": finalizer}
        if present
        else {"op": "add", "path": _PATH, "value": [finalizer]}
    )
    return _edit(ref, obj, edit)


def remove_finalizer(ref: ObjectRef, obj: Mapping[str, Any], finalizer: str) -> Request:
    """The request that removes our finalizer and no other."""
    index = finalizers_of(obj).index(finalizer)
    return _edit(ref, obj, {"op": "remove", "path": f"{_PATH}/{index}"})


def _edit(ref: ObjectRef, obj: Mapping[str, Any], edit: Json) -> Request:
    tests = [
        {"op": "test", "path": "/metadata/uid", "value": uid_of(obj)},
        # A missing list passes the test against null.
        {"op": "test", "path": _PATH, "value": finalizers_of(obj) or None},
    ]
    return Request(Verb.PATCH, ref, [*tests, edit], patch=Patch.JSON)

"""A model of the API server: how it stores a write, as far as a plan depends on it.

It follows RFC 7386 with the departures of the real server (golden/FACTS.md 25, 26): nulls are also
dropped from maps inside lists.  It fills in a default in every object inside a list.  For built-in
kinds and for metadata it drops empty values.  Versions and uids are checked.
"""

from copy import deepcopy
from typing import Any

from myrmidon.api.objects.accessors import Json, name_of, uid_of, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.values.equality import same
from myrmidon.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
    ServerError,
)
from myrmidon.patch import merge
from tests.strategies import without_nulls

DEFAULT = "filledIn"
MAPS = ("annotations", "data", "labels", "limits")


class ModelServer:
    """Objects by reference; ``writes`` counts the requests that changed an object."""

    def __init__(self, *, drops_empty: bool = False, fills_in: bool = True) -> None:
        self.objects: dict[ObjectRef, Json] = {}
        self.writes = 0
        self.requests: list[Request] = []
        self._drops_empty, self._fills_in = drops_empty, fills_in
        self._version = 0
        self._managed: dict[tuple[ObjectRef, str], Json] = {}

    def get(self, ref: ObjectRef) -> Json | None:
        """Return the object as a watch delivers it."""
        return deepcopy(self.objects.get(ref))

    def put(self, ref: ObjectRef, obj: Json) -> Json:
        """Store the whole object, as another writer would."""
        return self._store(ref, obj)

    def send(self, request: Request | None) -> None:
        """Do what the request says, or refuse it as the server does."""
        if request is None:
            return
        self.requests.append(request)
        current = self.objects.get(request.ref)
        match request.verb:
            case Verb.CREATE:
                self._create(request, current)
            case Verb.DELETE:
                self._delete(request, current)
            case Verb.UPDATE:
                self._check(request.body, current)
                self._store(request.ref, without_nulls(request.body))
            case Verb.PATCH if request.patch is Patch.APPLY:
                self._apply(request, current)
            case _:
                self._check(request.body, current)
                assert current is not None
                self._store(request.ref, merge(current, _without_nulls_in_lists(request.body)))

    # ------------------------------------------------------------------------ verbs

    def _create(self, request: Request, current: Json | None) -> None:
        if current is not None:
            raise AlreadyExistsError(409, "AlreadyExists", "it exists")
        if version_of(request.body):
            raise ServerError(500, "", "resourceVersion should not be set on objects to be created")
        self._store(request.ref, without_nulls(request.body))

    def _delete(self, request: Request, current: Json | None) -> None:
        if current is None:
            raise NotFoundError(404, "NotFound", "no such object")
        if request.body["preconditions"]["uid"] != uid_of(current):
            raise ConflictError(409, "Conflict", "the UID in the precondition does not match")
        del self.objects[request.ref]

    def _apply(self, request: Request, current: Json | None) -> None:
        body = request.body
        assert name_of(body), "apply needs a name"
        assert same(body, without_nulls(body)), "apply refuses nulls"
        if current is None and uid_of(body):
            raise ConflictError(409, "Conflict", "uid mismatch")
        if current is not None:
            self._check(body, current)
        manager = dict(request.query)["fieldManager"]
        before = self._managed.get((request.ref, manager), {})
        kept = _without(current or {}, before, body)
        owners = _merged_owners(current or {}, body)
        applied = merge(kept, body)
        if owners:
            applied = merge(applied, {"metadata": {"ownerReferences": owners}})
        self._managed[request.ref, manager] = deepcopy(body)
        self._store(request.ref, applied)

    # ------------------------------------------------------------------------ inside

    @staticmethod
    def _check(body: Json, current: Json | None) -> None:
        if current is None:
            raise NotFoundError(404, "NotFound", "no such object")
        wanted = (body.get("metadata") or {}).get("resourceVersion")
        if wanted is not None and wanted != version_of(current):
            raise ConflictError(409, "Conflict", "the object has been modified")
        if uid_of(body) and uid_of(body) != uid_of(current):
            cause = {"reason": "FieldValueInvalid", "field": "metadata.uid"}
            raise InvalidError(422, "Invalid", "field is immutable", details={"causes": [cause]})

    def _store(self, ref: ObjectRef, obj: Json) -> Json:
        current = self.objects.get(ref)
        stored = {
            key: _completed(value) if self._fills_in else value
            for key, value in deepcopy(obj).items()
            if key != "metadata"
        }
        if self._drops_empty:
            stored = _without_empty(stored)
        before = (current or {}).get("metadata") or {}
        meta = {**_without_empty(obj.get("metadata") or {}), "uid": before.get("uid")}
        meta["namespace"] = ref.namespace
        if not before:
            meta["uid"], meta["generation"] = f"uid-{self._version}", 1
        else:
            unchanged = same(_rest(current), stored)
            meta["generation"] = before["generation"] + (0 if unchanged else 1)
        meta["resourceVersion"] = before.get("resourceVersion")
        stored["metadata"] = meta
        if not same(current, stored):
            self._version += 1
            self.writes += 1
            meta["resourceVersion"] = str(self._version)
        self.objects[ref] = stored
        return stored


def _rest(obj: Json | None) -> Json:
    return {key: value for key, value in (obj or {}).items() if key != "metadata"}


def _completed(value: Any, *, in_list: bool = False) -> Any:
    if isinstance(value, dict):
        whole = {key: _completed(item) for key, item in value.items()}
        return {DEFAULT: "x", **whole} if in_list else whole
    if isinstance(value, list):
        return [_completed(item, in_list=True) for item in value]
    return value


def _without_nulls_in_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls_in_lists(item) for key, item in value.items()}
    return without_nulls(value)


def _without_empty(value: Any, *, of_map: bool = False) -> Any:
    """Drop the values that a Go struct with ``omitempty`` does not print; entries of maps stay."""
    if isinstance(value, dict):
        return {
            key: _without_empty(item, of_map=key in MAPS)
            for key, item in value.items()
            if item or (of_map and item is not None)
        }
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


def _without(current: Any, before: Any, now: Any) -> Any:
    """Drop the fields that a manager applied before and does not apply now."""
    if not (isinstance(current, dict) and isinstance(before, dict) and isinstance(now, dict)):
        return current
    return {
        key: _without(value, before.get(key), now.get(key)) if key in now else value
        for key, value in current.items()
        if key in now or key not in before
    }


def _merged_owners(current: Json, body: Json) -> list[Json]:
    owners: dict[str, Json] = {}
    for obj in (current, body):
        for owner in (obj.get("metadata") or {}).get("ownerReferences") or ():
            owners[owner["uid"]] = owner
    return list(owners.values())

"""Remove what a state declared before and does not declare any more (``remove_undeclared=True``).

A merge patch leaves alone what it does not mention, so a label that a state has stopped declaring
would stay for ever.  To remove it, two questions must be answered for each field, also after a
restart, and without taking fields of others:

1. Did this state declare it before?  Each write records the declared field paths on the object,
   in the annotation ``declared.myrmidon.dev/<controller>.<state>``: a tree of keys whose leaves are
   0.  A list is one field.  The record is part of the same request as the fields, so neither can be
   written without the other.
2. Is it still ours?  ``metadata.managedFields`` says which managers hold a field.  It is removed
   only if this controller is the only one: a field that another writer has changed since, or that
   another one applies as well, stays.  So does a field that another state of the controller has in
   its own record.

Caches do not keep ``managedFields``.  ``removals`` therefore raises ``ManagersUnknownError`` for a
cached object that has such a field, and the applicator decides again on a live read; that happens
only when a declaration has shrunk.  A request that removes fields carries the resourceVersion of
that read, so that a change by another writer in between is not lost.

A map all of whose fields are removed is removed itself.  Not handled: a field inside a list element
(the fingerprint of ``sets.planning`` covers it), and a declaration of more paths than fit into the
record (``OutputError``; server-side apply has no such limit).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import orjson

from myrmidon.api.objects.accessors import Json, annotations_of, metadata
from myrmidon.api.objects.managed_fields import holders_of
from myrmidon.errors import ManagersUnknownError, OutputError
from myrmidon.sets.outputs.outputs import Apply, manager_of

DECLARED = "declared.myrmidon.dev"  # the prefix of the annotation that holds the record

Field: TypeAlias = tuple[str, ...]

_RECORD_BYTES_MAX = 16_384
_NAMED = ("apiVersion", "kind", "metadata")
_MAPS = ("labels", "annotations")  # the metadata that a state declares key by key


def record_of(output: Apply, declared: Json) -> str:
    """Return the record of the declared field paths, as compact JSON."""
    tree = _tree({key: value for key, value in declared.items() if key not in _NAMED})
    meta = metadata(declared)
    named = {part: _tree(meta[part]) for part in _MAPS if meta.get(part)}
    record = orjson.dumps({**tree, "metadata": named}, option=orjson.OPT_SORT_KEYS)
    if len(record) > _RECORD_BYTES_MAX:
        raise OutputError(
            f"{output.ref} declares too many fields for remove_undeclared: their record has "
            f"{len(record)} bytes, {_RECORD_BYTES_MAX} are allowed.\n"
            "  fix: apply it with server_side=True, where the server keeps the record"
        )
    return record.decode()


def removals(output: Apply, declared: Json, current: Json, key: str) -> Json:
    """Return a merge patch that removes what is no longer declared; empty if nothing is left over.

    ``key`` is the annotation with the record of this output.
    """
    records = {
        name: _parsed(text)
        for name, text in annotations_of(current).items()
        if name.startswith(DECLARED)
    }
    recorded = records.pop(key, {})
    ours = partial(_is_ours, output, current, records)
    return _left_over(recorded, declared, current, ours, ())


# ------------------------------------------------------------------------------- inside


def _left_over(
    recorded: Json, declared: Json, current: Json, ours: Callable[[Field], bool], at: Field
) -> Json:
    patch: Json = {}
    for name, inner in recorded.items():
        if name not in current:
            continue
        there = current[name]
        if name not in declared:
            erased = _erased(inner, there, ours, (*at, name))
            if erased != {}:
                patch[name] = erased
        elif all(isinstance(one, dict) for one in (inner, declared[name], there)):
            left = _left_over(inner, declared[name], there, ours, (*at, name))
            if left:
                patch[name] = left
    return patch


def _erased(recorded: Any, there: Any, ours: Callable[[Field], bool], at: Field) -> Any:
    """Return None if the whole value goes, otherwise a patch of the fields that go."""
    if not isinstance(there, dict) or not there:
        return None if ours(at) else {}
    if not isinstance(recorded, dict):
        return {}  # we declared a single value; the map there is another writer's
    parts = {
        name: _erased(recorded[name], inner, ours, (*at, name)) if name in recorded else {}
        for name, inner in there.items()
    }
    if all(part is None for part in parts.values()):
        return None
    return {name: part for name, part in parts.items() if part != {}}


def _is_ours(output: Apply, current: Json, others: Mapping[str, Json], field: Field) -> bool:
    if any(_contains(tree, field) for tree in others.values()):
        return False  # another state declares it
    if "managedFields" not in metadata(current):
        raise ManagersUnknownError(str(output.ref))
    return holders_of(current, field) == {manager_of(output)}


def _contains(tree: Any, field: Field) -> bool:
    for name in field:
        if not isinstance(tree, dict):
            return True  # a value that contains the field
        if name not in tree:
            return False
        tree = tree[name]
    return True


def _tree(value: Any) -> Any:
    """Return the keys of nested maps; a null asks for absence, so it declares nothing."""
    if not isinstance(value, dict):
        return 0
    return {key: _tree(inner) for key, inner in value.items() if inner is not None}


def _parsed(text: Any) -> Json:
    """Return a record; empty if another writer has spoilt it."""
    try:
        tree = orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        return {}
    return tree if isinstance(tree, dict) else {}

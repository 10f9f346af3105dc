"""The objects that a new cluster has: the ``kubernetes`` Service, roles, priorities.

They are recorded from a real server (``tests/cluster/record_start_objects.py``).  All servers of a
process share the objects: they are parsed when a server uses their resource first, and once for
each time at which servers start.
"""

from functools import lru_cache, partial

import orjson

from myrmidon.api.objects.accessors import Json, name_of, namespace_of
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.store import FIRST_REVISION, Loaders, Record, content_of


@lru_cache(maxsize=16)
def start_objects(timestamp: str) -> Loaders:
    """Return the objects of a cluster that was started at a time."""
    return {resource: partial(_records, resource, timestamp) for resource in files.start_objects()}


def _records(resource: str, timestamp: str) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for key, value, content in _parsed(resource, timestamp):
        # A record of its own for each server, because the answers made of it are kept in it.
        found[key] = record = Record(key, FIRST_REVISION, value)
        record.content = content
    return found


@lru_cache(maxsize=64)
def _parsed(resource: str, timestamp: str) -> list[tuple[str, Json, bytes]]:
    """Return key, value and content of each object."""
    text = files.start_objects()[resource].replace("${now}", timestamp)
    return [
        (key, value, content_of(Record(key, FIRST_REVISION, value)))
        for value in orjson.loads(text)
        for key in (f"{namespace_of(value)}/{name_of(value)}".lstrip("/"),)
    ]

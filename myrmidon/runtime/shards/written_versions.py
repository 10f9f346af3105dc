"""WrittenVersions: how far the caches of the next owner must have come before it begins.

A cache lags behind the server.  A new owner that begins with an older state than the last writes of
the former owner would take children that exist for missing, and write what was written already.  So
the former owner says, in the shard map or in its released Lease, which resourceVersion its last write
had in each collection.  Such a write is an event of that collection, hence every watch of it comes to
that version without waiting for other events.

Deletes are not counted: their answers have no version, and a child that seems to exist a little
longer is deleted again with its uid as precondition, or waited for.
"""

import json
from collections.abc import Mapping

import orjson

from myrmidon.api.requests.transport import HttpRequest, HttpResponse

VERSIONS_ANNOTATION = "myrmidon.dev/written-versions"
_SUBRESOURCES_OF_NAMESPACES = frozenset({"status", "finalize"})

Versions = dict[str, int]
"""The highest resourceVersion by collection, such as ``deployments.apps``."""


def note(known: Versions, request: HttpRequest, response: HttpResponse) -> None:
    """Note the version that a write produced."""
    if request.method == "DELETE" or response.status >= 300:
        return
    try:
        version = int(orjson.loads(response.body)["metadata"]["resourceVersion"])
    except (ValueError, TypeError, KeyError):
        return
    collection = collection_of(request.path)
    known[collection] = max(known.get(collection, 0), version)


def merged(*several: Mapping[str, int]) -> Versions:
    """Return the highest version of each collection."""
    found: Versions = {}
    for versions in several:
        for collection, version in versions.items():
            found[collection] = max(found.get(collection, 0), version)
    return found


def text_of_versions(versions: Mapping[str, int]) -> str:
    """Return the versions as the annotation has them."""
    return json.dumps(versions, sort_keys=True)


def versions_in(annotations: Mapping[str, str]) -> Versions:
    """Return the versions of an annotation; empty if it is absent or not valid."""
    try:
        noted = json.loads(annotations.get(VERSIONS_ANNOTATION) or "{}")
        return {str(name): value for name, value in noted.items() if type(value) is int}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}


def collection_of(path: str) -> str:
    """Return the collection of a request's path: ``configmaps``, ``deployments.apps``."""
    parts = path.strip("/").split("/")
    group, rest = (parts[1], parts[3:]) if parts[0] == "apis" else ("", parts[2:])
    inside = rest[0] == "namespaces" and len(rest) > 2 if rest else False
    if inside and (group or rest[2] not in _SUBRESOURCES_OF_NAMESPACES):
        rest = rest[2:]
    plural = rest[0] if rest else ""
    return f"{plural}.{group}" if group else plural

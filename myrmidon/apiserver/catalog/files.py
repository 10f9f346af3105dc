"""The data files with recorded facts about the built-in kinds, read on first use.

``tests/cluster/record_builtin_types.py`` records them from a real server.  The definitions take a
few milliseconds to read; the first object of a built-in kind triggers that.
"""

import gzip
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from myrmidon.api.objects.accessors import Json

_HERE = Path(__file__).parent


def _read(name: str) -> Any:
    # Not importlib.resources: importing that costs more than reading the files.
    return orjson.loads(gzip.decompress((_HERE / name).read_bytes()))


@cache
def definitions() -> Json:
    """Return ``schemas`` by name, ``go`` facts about them, and ``paths`` of OpenAPI documents."""
    definitions: Json = _read("definitions.json.gz")
    return definitions


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """Return the descriptions of each type (under ``""``) and of its fields."""
    descriptions: dict[str, dict[str, str]] = _read("descriptions.json.gz")
    return descriptions


@cache
def openapi_v2() -> Json:
    """Return what ``/openapi/v2`` has beside the types: paths, parameters, paths of custom kinds."""
    openapi_v2: Json = _read("openapi_v2.json.gz")
    return openapi_v2


@cache
def start_objects() -> dict[str, str]:
    """Return the objects of a new cluster: by resource, as JSON text with ``${now}`` for the time."""
    start_objects: dict[str, str] = _read("start_objects.json.gz")
    return start_objects


@cache
def served() -> Json:
    """Return ``groups`` with all resources, in the server's order, and the ``version`` document."""
    served: Json = _read("resources.json.gz")
    return served

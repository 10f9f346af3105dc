"""The recorded facts about the built-in kinds, read when first asked for.

``tests/cluster/record_builtin_types.py`` makes the files from a real server.  The definitions take
a few milliseconds to read, so nothing but the first object of a built-in kind pays for them.
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
    """``schemas`` by name, what ``go`` adds to them, and the ``paths`` of OpenAPI documents."""
    definitions: Json = _read("definitions.json.gz")
    return definitions


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """The texts of a type, under ``""``, and of its fields."""
    descriptions: dict[str, dict[str, str]] = _read("descriptions.json.gz")
    return descriptions


@cache
def served() -> Json:
    """``groups`` in the server's order with all their resources, and the ``version`` document."""
    served: Json = _read("resources.json.gz")
    return served

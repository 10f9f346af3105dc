"""YAML as Go's parser reads it: JSON with fewer quotes.

Loaded with the first body that is YAML; most are JSON, and a parser is slow to load.
"""

import json
from collections.abc import Hashable
from functools import cache
from typing import Any

from myrmidon.apiserver import encoding

_DEPTH_MAX = 250
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def parse_yaml(text: bytes, duplicates: list[str] | None = None) -> Any:
    """YAML as JSON; raises ``ValueError``.  Notes keys that stand twice in ``duplicates``."""
    import yaml  # noqa: PLC0415 - see above

    if _is_deep(text):
        raise ValueError("yaml: exceeded max depth")
    try:
        loader = _loader_type()(text)
        value = loader.get_single_data()
        if duplicates is not None:
            duplicates += loader.duplicates
        return encoding.decode(json.dumps(value).encode())
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _is_deep(text: bytes) -> bool:
    """Whether brackets are nested so deeply that the parser would take seconds, and then fail."""
    if text.count(b"[") + text.count(b"{") <= _DEPTH_MAX:
        return False
    depth = 0
    for letter in text.translate(None, _NO_BRACKETS):
        depth += 1 if letter in b"[{" else -1
        if depth > _DEPTH_MAX:
            return True
    return False


@cache
def _loader_type() -> Any:
    import re  # noqa: PLC0415
    from typing import Any as Value  # noqa: PLC0415

    import yaml  # noqa: PLC0415

    class Loader(yaml.SafeLoader):
        """Safe YAML in which times are texts, ``y`` is true, and repeated keys are noted."""

        def __init__(self, stream: bytes) -> None:
            super().__init__(stream)
            self.duplicates: list[str] = []

        def construct_mapping(
            self, node: yaml.MappingNode, deep: bool = False
        ) -> dict[Hashable, Value]:
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    self.duplicates.append(f'line {line}: key "{key.value}" already set in map')
                seen.add(key.value)
            return super().construct_mapping(node, deep=deep)

    Loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), list("yYnN"))
    Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    return Loader

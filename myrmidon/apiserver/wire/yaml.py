"""YAML as Go's parser reads it: JSON with fewer quotes.

A body is read twice.  The first pass looks at the events of the parser only: it refuses nesting beyond
``DEPTH_MAX`` before anything recursive runs, and aliases that would expand a small text to a large
object (a "YAML bomb"), by the rule of go-yaml: beyond 100 values that come from aliases and 1,000 in
all, at most 99 % of the values may come from aliases, at most 10 % from 4,000,000 values on.  The second pass
builds the value.

The parser is loaded with the first body that is YAML; most bodies are JSON, and it is slow to load.
"""

import json
from collections.abc import Hashable
from functools import cache
from typing import Any

from myrmidon.apiserver.golang import json as go_json

_RATIO_LOW, _RATIO_HIGH = (
    400_000,
    4_000_000,
)  # values; between them the allowed share of aliases falls
_VALUES_MAX = 4_000_000  # ours: what is larger would not fit into a request once it is JSON


def parse_yaml(text: bytes, duplicates: list[str] | None = None) -> Any:
    """YAML as JSON; raises ``ValueError``.  Notes keys that stand twice in ``duplicates``."""
    import yaml  # noqa: PLC0415 - see above

    try:
        _check_shape(text)
        loader = _loader_type()(text)
        try:
            value = loader.get_single_data()
        finally:
            loader.dispose()
        if duplicates is not None:
            duplicates += loader.duplicates
        return go_json.decode(json.dumps(value).encode())
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _check_shape(text: bytes) -> None:
    """Refuse what nests too deeply or expands too far, without building any of it."""
    import yaml  # noqa: PLC0415

    counts = [0]  # of the values of each open collection, aliases expanded
    names: list[str | None] = []  # of the anchors of the open collections
    sizes: dict[str, int] = {}  # of what an anchor stands for
    aliased = 0
    for event in yaml.parse(text, Loader=_base_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            if len(names) == go_json.DEPTH_MAX:
                raise ValueError("yaml: exceeded max depth")
            counts.append(1)
            names.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            size = counts.pop()
            counts[-1] += size
            if name := names.pop():
                sizes[name] = size
        elif isinstance(event, yaml.ScalarEvent):
            counts[-1] += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in names:
                raise ValueError(f"yaml: anchor '{event.anchor}' value contains itself")
            size = sizes.get(event.anchor or "", 0)
            counts[-1] += size
            aliased += size
            _check_aliases(aliased, sum(counts))


def _check_aliases(aliased: int, values: int) -> None:
    share = (values - _RATIO_LOW) / (_RATIO_HIGH - _RATIO_LOW)
    allowed = 0.99 - 0.89 * min(max(share, 0.0), 1.0)
    if values > _VALUES_MAX or (aliased > 100 and values > 1000 and aliased > allowed * values):
        raise ValueError("yaml: document contains excessive aliasing")


def _base_loader() -> Any:
    """The loader in C where there is one: ten times as fast."""
    import yaml  # noqa: PLC0415

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _loader_type() -> Any:
    import re  # noqa: PLC0415
    from typing import Any as Value  # noqa: PLC0415

    import yaml  # noqa: PLC0415

    base: Any = _base_loader()

    class Loader(base):  # type: ignore[misc]
        """Safe YAML in which times are texts, ``y`` is true, and repeated keys are noted."""

        def __init__(self, stream: bytes) -> None:
            super().__init__(stream)
            self.duplicates: list[str] = []

        def construct_mapping(
            self, node: yaml.MappingNode, deep: bool = False
        ) -> dict[Hashable, Value]:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str):
                    if key.value in seen:
                        line = key.start_mark.line + 1
                        self.duplicates.append(f'line {line}: key "{key.value}" already set in map')
                    seen.add(key.value)
            constructed: dict[Hashable, Value] = super().construct_mapping(node, deep=deep)
            return constructed

    Loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^[yYnN]$"), list("yYnN"))
    Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    return Loader

"""Read YAML as Go's parser does, into JSON values.

A body is read twice.  The first pass reads only the parser's events.  It refuses nesting beyond
``DEPTH_MAX`` before any recursive function runs, and aliases that would expand a small text to a
large object (a "YAML bomb").  The rule is go-yaml's: beyond 100 values from aliases and 1,000
values in all, at most 99 % of the values may come from aliases; the limit falls to 10 % at
4,000,000 values.  The second pass builds the value.

The parser is imported with the first YAML body: most bodies are JSON, and the import is slow.
"""

import json
from collections.abc import Hashable
from functools import cache
from typing import Any

from myrmidon.apiserver.golang import json as go_json

# Between these numbers of values, the allowed share of aliases falls.
_RATIO_LOW, _RATIO_HIGH = 400_000, 4_000_000
_VALUES_MAX = 4_000_000  # our own limit: as JSON, a larger value would not fit into a request


def parse_yaml(text: bytes, duplicates: list[str] | None = None) -> Any:
    """Return YAML as JSON values; raise ``ValueError``.

    A message for each duplicate key is added to ``duplicates``.
    """
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
    except yaml.MarkedYAMLError as error:
        raise YamlSyntaxError(_said(error, isinstance(error, yaml.scanner.ScannerError))) from None
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


class YamlSyntaxError(ValueError):
    """A text that is not YAML; the message is go-yaml's."""


def _said(error: Any, is_scanner: bool) -> str:
    """Return the message of go-yaml, which counts the lines of its scanner from 1, others from 0."""
    mark = error.context_mark if error.context_mark and error.context_mark.line else None
    mark = mark or error.problem_mark
    line = mark.line if mark is not None else 0
    where = f"line {line + is_scanner}: " if line else ""
    return f"yaml: {where}{error.problem}"


def _check_shape(text: bytes) -> None:
    """Refuse values that nest too deeply or expand too far, without building them."""
    import yaml  # noqa: PLC0415

    counts = [0]  # values in each open collection, with aliases expanded
    names: list[str | None] = []  # anchors of the open collections
    sizes: dict[str, int] = {}  # number of values of each anchor
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
    """Return the C loader if it is available: it is ten times as fast."""
    import yaml  # noqa: PLC0415

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _loader_type() -> Any:
    import re  # noqa: PLC0415
    from typing import Any as Value  # noqa: PLC0415

    import yaml  # noqa: PLC0415

    base: Any = _base_loader()

    class Loader(base):  # type: ignore[misc]
        """Safe YAML in which times are strings, ``y`` is true, and duplicate keys are recorded."""

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

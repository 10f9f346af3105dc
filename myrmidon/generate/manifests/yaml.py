"""Manifests as YAML for people to review: the same text for the same manifest, without noise.

apiVersion, kind and metadata come first, the other keys in alphabetical order.  Strings that YAML
would read as another type are quoted; long strings stay on one line, and strings of several lines
are blocks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from myrmidon.api.objects.accessors import Json

_FIRST = ("apiVersion", "kind", "metadata", "name", "namespace", "type")
_RANK = {key: rank for rank, key in enumerate(_FIRST)}


class _Dumper(yaml.SafeDumper):
    """A dumper without anchors, and with indented lists, which are easier to read."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _map(dumper: yaml.SafeDumper, items: Mapping[str, Any]) -> yaml.Node:
    ordered = sorted(items.items(), key=lambda item: (_RANK.get(item[0], len(_FIRST)), item[0]))
    return dumper.represent_mapping("tag:yaml.org,2002:map", ordered)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _map)


def to_yaml(manifests: Json | Iterable[Json]) -> str:
    """One manifest, or several as documents of one text."""
    documents = [manifests] if isinstance(manifests, dict) else list(manifests)
    return "---\n".join(
        yaml.dump(
            document, Dumper=_Dumper, width=10**6, allow_unicode=True, default_flow_style=False
        )
        for document in documents
    )

"""Record the protobuf messages of the built-in kinds, as a data file of the product.

    python -m tests.cluster.record_protobuf_types

reads the ``generated.proto`` files of the Go modules and writes
``myrmidon/apiserver/wire/protobuf.json.gz``: message, field number, name, type, and whether it is
repeated, a map, or (in JSON) part of its parent.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(__file__).parents[2] / "myrmidon/apiserver"
MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (optional|repeated|map<\w+, ?[\w.]+>) ?([.\w]*) (\w+) = (\d+);", re.MULTILINE
)
_MAP = re.compile(r"map<\w+, ?([\w.]+)>")
Field = list[str]


def main() -> None:
    """Read and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default="v0.36.4", help="version of the k8s.io modules")
    parser.add_argument("--modules", type=Path, default=Path.home() / "go/pkg/mod/k8s.io")
    options = parser.parse_args()
    definitions = json.loads(gzip.decompress((SERVER / "catalog/definitions.json.gz").read_bytes()))
    known = definitions["schemas"]
    messages = {
        name: _marked(fields, known.get(_openapi_name(name)))
        for module in MODULES
        for name, fields in _messages(options.modules / f"{module}@{options.release}")
    }
    text = json.dumps(messages, sort_keys=True, separators=(",", ":"))
    (SERVER / "wire/protobuf.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _messages(module: Path) -> Iterator[tuple[str, dict[str, Field]]]:
    for path in sorted(module.rglob("generated.proto")):
        text = path.read_text()
        package = _PACKAGE.search(text)
        assert package is not None, path
        for message in _MESSAGE.finditer(text):
            yield f"{package[1]}.{message[1]}", _fields(message[2], package[1])


def _fields(body: str, package: str) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for label, type_, name, number in _FIELD.findall(body):
        map_of = _MAP.fullmatch(label)
        found = map_of[1] if map_of else type_
        full = found.lstrip(".") if "." in found or found[0].islower() else f"{package}.{found}"
        fields[number] = [name, full, "map" if map_of else label if label == "repeated" else ""]
    return fields


def _marked(fields: dict[str, Field], definition: dict[str, object] | None) -> dict[str, Field]:
    """Mark the fields that JSON has no name for: their own fields stand in the parent."""
    properties = (definition or {}).get("properties")
    if not isinstance(properties, dict):
        return fields
    return {
        number: [
            name,
            type_,
            label if label or name in properties or "." not in type_ else "inline",
        ]
        for number, (name, type_, label) in fields.items()
    }


def _openapi_name(message: str) -> str:
    """``k8s.io.api.core.v1.Pod`` as ``io.k8s.api.core.v1.Pod``."""
    return f"io.k8s.{message.removeprefix('k8s.io.')}"


if __name__ == "__main__":
    main()

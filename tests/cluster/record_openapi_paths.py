"""Record what ``/openapi/v2`` of a real server has beside the types of built-in kinds.

    python -m tests.cluster.record_openapi_paths

writes ``myrmidon/apiserver/catalog/openapi_v2.json.gz``: the paths of built-in kinds, those of a
custom resource of each scope with placeholders for its names, the parameters, and the few types
that differ from those of version 3.

It also writes ``tests/apiserver/discovery/custom_v2.json.gz``: the paths and types of the custom
resources of ``tests/apiserver/discovery/definitions.py``, for tests without a real server.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from myrmidon.apiserver.discovery import openapi_v2
from tests.apiserver.discovery.definitions import GROUP as EXAMPLE_GROUP
from tests.apiserver.discovery.definitions import definitions
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.client import Client
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until

OUT = Path(__file__).parents[2] / "myrmidon/apiserver/catalog/openapi_v2.json.gz"
EXAMPLES = Path(__file__).parents[1] / "apiserver/discovery/custom_v2.json.gz"
GROUP = "tem.plates"
CUSTOM = {"Namespaced": ("thingplurals", "ThingKind"), "Cluster": ("worldplurals", "WorldKind")}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Json = dict[str, Any]


def main() -> None:
    """Start a server, and write."""
    with ControlPlane(find()) as plane:
        write(OUT, recorded(plane.client()))
        write(EXAMPLES, recorded_examples(plane.client()))


def write(path: Path, content: Json) -> None:
    """Write compressed JSON, byte for byte the same for the same content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def recorded_examples(client: Client) -> Json:
    """Return the paths and types of the custom resources of the tests."""
    for each in definitions():
        assert client.post(DEFINITIONS, each).status == 201
    names = [each["spec"]["names"]["plural"] for each in definitions()]

    def found() -> Json:
        document = client.get("/openapi/v2").body
        paths = {path: item for path, item in document["paths"].items() if EXAMPLE_GROUP in path}
        types: Json = document["definitions"]
        return {
            "paths": {path: item for path, item in paths.items() if not path.endswith("/")},
            "definitions": {name: types[name] for name in types if name.startswith("com.example.")},
        }

    def is_complete() -> bool:
        return all(any(path.endswith(f"/{name}") for path in found()["paths"]) for name in names)

    wait_until(is_complete, "the paths of the custom resources", 60)
    return found()


def recorded(client: Client) -> Json:
    """Return the content of the file."""
    for scope in CUSTOM:
        made = client.post(DEFINITIONS, definition(scope))
        assert made.status == 201, made.body

    def is_complete() -> bool:
        paths = client.get("/openapi/v2").body["paths"]
        return all(any(plural in path for path in paths) for plural, _ in CUSTOM.values())

    wait_until(is_complete, "the paths of the custom resources", 60)
    document: Json = client.get("/openapi/v2").body
    paths: Json = document["paths"]
    own = openapi_v2.builtin_types()
    return {
        "paths": {path: item for path, item in paths.items() if GROUP not in path},
        "custom": {scope: template(paths, scope) for scope in CUSTOM},
        "definitions": {
            name: schema
            for name, schema in document["definitions"].items()
            if own.get(name) != schema and not name.startswith("plates.tem.")
        },
        **{key: document[key] for key in ("parameters", "securityDefinitions", "security")},
    }


def template(paths: Json, scope: str) -> str:
    """Return the paths of a custom resource, with placeholders for its names."""
    plural, kind = CUSTOM[scope]
    root = f"/apis/{GROUP}/v7"
    found = {path: item for path, item in paths.items() if path.startswith(root) and plural in path}
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    for name, placeholder in (
        (f"plates.tem.v7.{kind}", "${name}"),
        (f"{kind}List", "${list}"),
        (kind, "${kind}"),
        (plural, "${plural}"),
        ("TemPlatesV7", "${id}"),
        ("temPlates_v7", "${tag}"),
        (GROUP, "${group}"),
        ("v7", "${version}"),
    ):
        text = text.replace(name, placeholder)
    return text


def definition(scope: str) -> Json:
    """Return the definition of a custom resource whose paths are recorded."""
    plural, kind = CUSTOM[scope]
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = {
        "name": "v7",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {"status": {}, "scale": scale},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


if __name__ == "__main__":
    main()

"""Record what a kube-apiserver knows about the built-in kinds, as data files of the product.

    python -m tests.cluster.record_builtin_types --base-url https://127.0.0.1:6443 --ca ca.crt

writes into ``myrmidon/apiserver/catalog``:

    definitions.json.gz    the types: OpenAPI v3 schemas without texts, and what Go adds to them
    descriptions.json.gz   the texts, which only ``kubectl explain`` asks for
    resources.json.gz      what is served: groups, versions, resources, columns of tables

The files are the same for the same server, whenever they are made.
"""

import argparse
import gzip
import json
import ssl
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cluster.go_structs import GoStructs

Json = dict[str, Any]
Fetch = Callable[[str, str], Any]

OUT = Path(__file__).parents[2] / "myrmidon/apiserver/catalog"
JSON = "application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def main() -> None:
    """Fetch and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--token", default="admin-token")
    parser.add_argument("--ca", help="the certificate of the server's authority")
    parser.add_argument("--release", default="v0.36.4", help="version of the k8s.io modules")
    parser.add_argument("--modules", type=Path, default=Path.home() / "go/pkg/mod")
    options = parser.parse_args()
    record(
        fetch_from(options.base_url, options.token, options.ca),
        GoStructs(options.modules, options.release),
    )


def fetch_from(base_url: str, token: str, ca: str | None) -> Fetch:
    """A function that gets a document of a server."""
    context = ssl.create_default_context(cafile=ca) if base_url.startswith("https") else None

    def fetch(path: str, accept: str) -> Any:
        headers = {"Accept": accept, "Authorization": f"Bearer {token}"}
        request = urllib.request.Request(base_url + path, headers=headers)
        with urllib.request.urlopen(request, context=context) as answer:
            return json.load(answer)

    return fetch


def record(fetch: Fetch, structs: GoStructs) -> None:
    """Write the three files."""
    schemas, paths = fetch_schemas(fetch)
    write(
        "definitions.json.gz",
        {
            "schemas": {name: without_texts(schema) for name, schema in schemas.items()},
            "go": {name: go_facts(structs, name) for name in schemas if go_facts(structs, name)},
            "paths": paths,
        },
    )
    write("descriptions.json.gz", {name: texts_of(schema) for name, schema in schemas.items()})
    write("resources.json.gz", fetch_resources(fetch))


def fetch_schemas(fetch: Fetch) -> tuple[Json, Json]:
    """All component schemas by name, and which of them each document of the index has."""
    schemas: Json = {}
    documents: Json = {}
    for name, entry in fetch("/openapi/v3", JSON)["paths"].items():
        parts = name.split("/")
        if parts[0] not in ("api", "apis") or len(parts) != (2 if parts[0] == "api" else 3):
            continue
        found = fetch(entry["serverRelativeURL"], JSON)["components"]["schemas"]
        documents[name] = sorted(found)
        for key, schema in found.items():
            # DeleteOptions and WatchEvent list the kinds of their own document only.
            known = schemas.setdefault(key, schema)
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                if kind not in known["x-kubernetes-group-version-kind"]:
                    known["x-kubernetes-group-version-kind"].append(kind)
    return schemas, documents


def without_texts(schema: Any) -> Any:
    """A schema without descriptions; ``description`` may also be the name of a property."""
    match schema:
        case dict():
            return {
                key: without_texts(value)
                for key, value in schema.items()
                if not (key == "description" and isinstance(value, str))
            }
        case list():
            return [without_texts(value) for value in schema]
        case _:
            return schema


def texts_of(schema: Json) -> Json:
    """The description of a type under ``""``, those of its fields under their names."""
    texts = {"": schema.get("description", "")}
    for name, field in schema.get("properties", {}).items():
        texts[name] = field.get("description", "")
    return {name: text for name, text in texts.items() if text}


def go_facts(structs: GoStructs, definition: str) -> Json:
    """Which fields are pointers, are written although empty, are left out although structs."""
    fields = structs.fields(definition)
    facts = {
        "pointer": [name for name, field in fields.items() if field.type.startswith("*")],
        "kept": [name for name, field in fields.items() if "omitempty" not in field.options],
        "omitzero": [name for name, field in fields.items() if "omitzero" in field.options],
    }
    return {fact: sorted(names) for fact, names in facts.items() if names}


def fetch_resources(fetch: Fetch) -> Json:
    """Groups in the server's order; each resource with what all its representations need."""
    groups = []
    for root in ("/api", "/apis"):
        for group in fetch(root, AGGREGATED)["items"]:
            name = group["metadata"].get("name", "")
            if "." in name and not name.endswith(".k8s.io"):
                continue  # a CustomResourceDefinition
            for version in group["versions"]:
                base = f"{root}/{name}/{version['version']}".replace("//", "/")
                hashes = {
                    resource["name"]: resource["storageVersionHash"]
                    for resource in fetch(base, JSON)["resources"]
                    if "storageVersionHash" in resource
                }
                for resource in version["resources"]:
                    resource["hash"] = hashes.get(resource["resource"], "")
                    if "list" in resource["verbs"]:
                        table = fetch(f"{base}/{resource['resource']}?limit=1", TABLE)
                        resource["columns"] = table["columnDefinitions"]
            groups.append({"name": name, "versions": group["versions"]})
    return {"groups": groups, "version": fetch("/version", JSON)}


def write(name: str, content: Any) -> None:
    """Write compressed JSON, byte for byte the same for the same content."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    (OUT / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()

"""Record what a kube-apiserver makes of the objects in ``tests/apiserver/builtin/cases.yaml``.

python -m tests.cluster.record_builtin_cases --base-url https://127.0.0.1:6443 --ca ca.crt
"""

import argparse
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from myrmidon.apiserver.catalog.resources import builtin_resources

Json = dict[str, Any]
Send = Callable[[str, str, Json | None], tuple[int, Json]]

FOLDER = Path(__file__).parents[1] / "apiserver/builtin"
NAMESPACE = "cases"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def main() -> None:
    """Send the requests and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--token", default="admin-token")
    parser.add_argument("--ca", required=True)
    options = parser.parse_args()
    send = sender(options.base_url, options.token, options.ca)
    cases = yaml.safe_load((FOLDER / "cases.yaml").read_text())
    send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    recorded = {
        "create": {
            name: answer(*send("POST", path_of(body) + "?dryRun=All", body))
            for name, body in cases["create"].items()
        },
        "change": {name: record_changes(send, case) for name, case in cases["change"].items()},
        "tables": {
            name: record_row(send, cases["create"][name], status)
            for name, status in cases["tables"].items()
        },
    }
    text = json.dumps(recorded, indent=1, sort_keys=True)
    (FOLDER / "recorded.json").write_text(text + "\n")


def sender(base_url: str, token: str, ca: str) -> Send:
    """A function that sends a request and gives status and body; TABLE is a GET of a table."""
    context = ssl.create_default_context(cafile=ca)

    def send(method: str, path: str, body: Json | None) -> tuple[int, Json]:
        merge = "application/merge-patch+json" if method == "PATCH" else "application/json"
        accept = TABLE if method == "TABLE" else "application/json"
        request = urllib.request.Request(
            base_url + path,
            json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}", "Content-Type": merge, "Accept": accept},
            method="GET" if method == "TABLE" else method,
        )
        try:
            with urllib.request.urlopen(request, context=context) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    return send


def path_of(body: Json) -> str:
    """Return the path of the collection that a body belongs to."""
    kind = next(
        resource.kind
        for resource in builtin_resources()
        if (resource.kind.api_version, resource.kind.kind) == (body["apiVersion"], body["kind"])
    )
    where = f"namespaces/{NAMESPACE}/" if kind.namespaced else ""
    return f"{kind.root}/{where}{kind.plural}"


def record_changes(send: Send, case: Json) -> Json:
    """Create an object, try each patch on it, and delete it."""
    path = path_of(case["body"])
    status, created = send("POST", path, case["body"])
    assert status == 201, created
    at = f"{path}/{created['metadata']['name']}"
    changes = {}
    for name, change in case["patches"].items():
        to = f"/{change['to']}" if "to" in change else ""
        changes[name] = answer(*send("PATCH", f"{at}{to}?dryRun=All", change["patch"]))
    send("DELETE", at, {"gracePeriodSeconds": 0})
    return {"created": answer(status, created), "changes": changes}


def record_row(send: Send, body: Json, status: Json) -> Json:
    """Create an object, give it a status, and record its row; then delete it."""
    path = path_of(body)
    named = body | {"metadata": body["metadata"] | {"name": f"row-{body['metadata']['name']}"}}
    _, created = send("POST", path, named)
    at = f"{path}/{created['metadata']['name']}"
    if status:
        send("PATCH", f"{at}/status", {"status": status})
    _, obj = send("GET", at, None)
    _, table = send("TABLE", at, None)
    send("DELETE", at, {"gracePeriodSeconds": 0})
    obj["metadata"].pop("managedFields", None)
    (row,) = table["rows"]
    return {"object": obj, "cells": row["cells"], "conditions": row.get("conditions", [])}


def answer(status: int, body: Json) -> Json:
    """Return what is compared: the causes of a failure, or an object without random values."""
    if status >= 400:
        details = body.get("details", {})
        causes = [[c.get("field", ""), c.get("reason", "")] for c in details.get("causes", ())]
        return {"status": status, "message": body["message"], "causes": sorted(causes)}
    meta = body["metadata"]
    text = (
        json.dumps(body)
        .replace(meta["uid"], "the-uid")
        .replace(meta["creationTimestamp"], "2024-01-01T00:00:00Z")
    )
    settled = json.loads(text)
    for field in ("uid", "creationTimestamp", "resourceVersion", "managedFields"):
        settled["metadata"].pop(field, None)
    return {"status": status, "body": settled}


if __name__ == "__main__":
    main()

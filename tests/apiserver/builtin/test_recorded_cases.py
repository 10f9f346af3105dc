"""The built-in kinds behave as recorded from a real server.

``recorded.json`` has its responses for the objects of ``cases.yaml``; here they go through the
strategy of their kind alone, without the rest of the request handling.
"""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.base_strategy import BuiltinStrategy
from myrmidon.apiserver.builtin.lookup import EmptyLookup
from myrmidon.apiserver.catalog.resources import BuiltinResource, builtin_resources
from myrmidon.apiserver.resources.metadata import validate_metadata
from myrmidon.apiserver.resources.strategy import DecodeError

TIME = "2024-01-01T00:00:00Z"
FOLDER = Path(__file__).parent
CASES = yaml.safe_load((FOLDER / "cases.yaml").read_text())
RECORDED = json.loads((FOLDER / "recorded.json").read_text())
CHANGES = [(name, change) for name, case in CASES["change"].items() for change in case["patches"]]
SERVED = {(r.kind.api_version, r.kind.kind): r for r in builtin_resources()}


def resource_of(body: Json) -> BuiltinResource:
    """Return the resource of a body."""
    return SERVED[body["apiVersion"], body["kind"]]


def created(body: Json) -> Json:
    """Return the strategy's result for a new object, in the form of the record."""
    resource = resource_of(body)
    strategy = BuiltinStrategy(resource, EmptyLookup())
    try:
        obj = strategy.decode(deepcopy(body)).obj
    except DecodeError as error:
        kind = body["kind"]
        text = f'{kind} in version "{resource.kind.version}" cannot be handled as a {kind}: {error}'
        return {"status": 400, "message": text, "causes": []}
    meta = obj["metadata"]
    meta.pop("generation", None)
    meta |= {"uid": "the-uid", "creationTimestamp": TIME}
    if resource.kind.namespaced:
        meta["namespace"] = "cases"
    strategy.prepare_create(obj)
    causes = validate_metadata(meta, strategy.name_problems, namespaced=resource.kind.namespaced)
    return answer(201, obj, [*causes, *strategy.validate_create(obj)])


def answer(status: int, obj: Json, causes: list[Any]) -> Json:
    """Return a response in the form of the record."""
    if causes:
        found = sorted([cause.field, cause.reason] for cause in causes)
        return {"status": 422, "causes": found, "texts": [c.message for c in causes]}
    settled = deepcopy(obj)
    for field in ("uid", "creationTimestamp"):
        settled["metadata"].pop(field, None)
    return {"status": status, "body": settled}


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def agree(expected: Json, found: Json) -> None:
    """Compare, with allocated addresses and ports taken as equal."""
    found.pop("texts", None)
    if expected["status"] == 422:
        expected = {key: value for key, value in expected.items() if key != "message"}
    if expected.get("body", {}).get("kind") == "Service" and "body" in found:
        draw_alike(expected["body"]["spec"], found["body"]["spec"])
    assert found == expected


def draw_alike(expected: Json, found: Json) -> None:
    """Replace the values that the real server allocated by ours."""
    for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
        assert (field in expected) == (field in found)
        if (
            field in found and "None" not in found[field]
            if field != "healthCheckNodePort"
            else found.get(field)
        ):
            expected[field] = found[field]
    for one, other in zip(expected.get("ports", ()), found.get("ports", ()), strict=True):
        assert ("nodePort" in one) == ("nodePort" in other)
        if "nodePort" in other:
            one["nodePort"] = other["nodePort"]


@pytest.mark.parametrize("name", CASES["create"])
def test_creation(name: str) -> None:
    """A new object is completed, or refused, as by the real server."""
    agree(deepcopy(RECORDED["create"][name]), created(CASES["create"][name]))


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=["-".join(pair) for pair in CHANGES])
def test_change(name: str, change: str) -> None:
    """A change is applied, or refused, as by the real server."""
    record, case = RECORDED["change"][name], CASES["change"][name]["patches"][change]
    resource = resource_of(CASES["change"][name]["body"])
    strategy = BuiltinStrategy(resource, EmptyLookup())
    old = deepcopy(record["created"]["body"])
    old["metadata"] |= {"uid": "the-uid", "creationTimestamp": TIME}
    obj = strategy.decode(merged(old, case["patch"])).obj
    if "generation" in old["metadata"]:
        obj["metadata"]["generation"] = old["metadata"]["generation"]
    strategy.prepare_update(obj, old, case.get("to", ""))
    causes = strategy.validate_update(obj, old, case.get("to", ""))
    agree(deepcopy(record["changes"][change]), answer(200, obj, causes))

"""The CRDs of a program: installed at its start, or compared with those of the cluster."""

import logging
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.errors import UsageError
from myrmidon.generate import crd
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.startup.definitions import missing_fields
from myrmidon.testing import Fault, Harness, Status
from tests.runtime.things import FinalThings, Thing, Things, thing

MINUTE = timedelta(minutes=1)
NAME = "things.test.myrmidon.dev"
INSTALL = ManagerOptions(seed=0, install_crds=True)


def without_size() -> Json:
    """Return the definition of an older version of the program."""
    older = deepcopy(crd(Thing))
    (version,) = older["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]
    return older


def warnings(caplog: pytest.LogCaptureFixture) -> list[Any]:
    """Return the extra fields of the warnings about definitions."""
    return [one.__dict__["facts"] for one in caplog.records if "lacks fields" in one.getMessage()]


def test_definitions_are_installed_before_the_controllers_start() -> None:
    """The controllers need not wait for their kinds, and we are the field manager."""
    with Harness(Things(), crds=False, options=INSTALL) as cluster:
        cluster.settle()
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        stored = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)
        managers = {entry["manager"] for entry in stored["metadata"]["managedFields"]}
        assert "myrmidon" in managers


def test_an_older_definition_is_overwritten() -> None:
    """This holds although another field manager created it."""
    with Harness(Things(), crds=False, options=INSTALL) as cluster:
        assert not cluster.server.create(without_size())
        cluster.settle()
        cluster.apply(thing(size=7))
        assert cluster.require(Thing, "it").spec.size == 7


def test_only_the_leader_installs() -> None:
    """It is a write, so it waits for the Lease; the controllers wait for their kinds meanwhile."""
    options = ManagerOptions(seed=0, install_crds=True, leader_election=True, identity="one")
    with Harness(Things(), crds=False, options=options) as cluster:
        cluster.advance(timedelta(seconds=5))
        assert cluster.get(kinds.CUSTOM_RESOURCE_DEFINITION, NAME) is None, "the Lease is new"
        cluster.advance(MINUTE)
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")


@given(held=st.integers(0, 60))
@settings(max_examples=10)
def test_a_definition_that_is_being_deleted_is_installed_again(held: int) -> None:
    """It accepts the apply and says Established until it disappears, after ``held`` seconds."""
    with Harness(Things(), crds=False, options=INSTALL) as cluster:
        cluster.settle()
        cluster.crash()
        for finalizers in (["test.myrmidon.dev/hold"], None):
            hold = {"metadata": {"finalizers": finalizers}}
            cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, NAME, hold)
            if finalizers:
                cluster.delete(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)
                cluster.restart()
                cluster.advance(timedelta(seconds=held))
        cluster.advance(MINUTE)
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_the_controllers_remove_the_finalizers_that_hold_an_old_definition() -> None:
    """They start although their definition is not installed yet, or it would wait for ever."""
    with Harness(FinalThings(), crds=False, options=INSTALL) as cluster:
        cluster.settle()
        cluster.apply(thing())
        cluster.settle()
        before = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)["metadata"]["uid"]
        cluster.crash()
        cluster.delete(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)
        cluster.restart()
        cluster.advance(MINUTE)
        after = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)["metadata"]["uid"]
        assert after != before
        assert cluster.get(Thing, "it") is None
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_without_the_right_to_install_the_process_ends_with_a_fix() -> None:
    """Installation was asked for explicitly."""

    def faults(request: HttpRequest) -> Fault | None:
        return Status(403, "Forbidden") if request.method == "PATCH" else None

    with (
        Harness(Things(), crds=False, options=INSTALL, faults=faults) as cluster,
        pytest.raises(UsageError, match="generate rbac --install-crds"),
    ):
        cluster.step()


def test_missing_fields_are_named_once_and_are_not_fatal(caplog: pytest.LogCaptureFixture) -> None:
    """The server drops the values that users set in them."""
    with caplog.at_level(logging.WARNING), Harness(Things(), crds=False) as cluster:
        assert not cluster.server.create(without_size())
        cluster.advance(MINUTE)
        cluster.apply({**thing().to_json(), "spec": {"value": "a"}})
        cluster.settle()
        assert cluster.ready(Thing, "it")
        (facts,) = warnings(caplog)
        assert facts["fields"] == ["spec.size"]
        assert "--install-crds" in facts["fix"]


def test_a_definition_that_fits_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    """Nor is one that cannot be read."""
    with caplog.at_level(logging.WARNING), Harness(Things(), crds=False) as cluster:
        assert not cluster.server.create(crd(Thing))
        cluster.advance(MINUTE)
        assert warnings(caplog) == []


names = st.sampled_from("abcdef")
schemas: st.SearchStrategy[Json] = st.recursive(
    st.just({"type": "string"}),
    lambda inner: st.one_of(
        st.dictionaries(names, inner, max_size=4).map(
            lambda fields: {"type": "object", "properties": fields}
        ),
        inner.map(lambda items: {"type": "array", "items": items}),
        inner.map(lambda values: {"type": "object", "additionalProperties": values}),
    ),
    max_leaves=12,
)


def paths(schema: Json, at: str = "") -> list[str]:
    """Every field of a schema."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        path = f"{at}.{name}" if at else name
        found += [path, *paths(inner, path)]
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if key in schema:
            found += paths(schema[key], at + mark)
    return found


@given(schemas)
def test_a_schema_lacks_nothing_of_itself(schema: Json) -> None:
    """For a schema of any shape."""
    assert list(missing_fields(schema, schema)) == []


@given(schemas, st.data())
def test_a_removed_field_is_found(schema: Json, data: st.DataObject) -> None:
    """The report has exactly the removed field, and not those inside it."""
    found = [path for path in paths(schema) if not path.endswith((".*", "[]"))]
    if not found:
        return
    gone = data.draw(st.sampled_from(found))
    served = deepcopy(schema)
    _remove(served, gone)
    assert list(missing_fields(schema, served)) == [gone]


def _remove(schema: Json, path: str) -> None:
    steps = path.replace("[]", ".[]").removeprefix(".").split(".")
    for step in steps[:-1]:
        key = {"[]": "items", "*": "additionalProperties"}.get(step)
        schema = schema[key] if key else schema["properties"][step]
    del schema["properties"][steps[-1]]


def test_a_schema_that_preserves_unknown_fields_lacks_none() -> None:
    """The server drops no fields there."""
    wanted = {"properties": {"a": {"properties": {"b": {"type": "string"}}}}}
    served = {"properties": {"a": {"x-kubernetes-preserve-unknown-fields": True}}}
    assert list(missing_fields(wanted, served)) == []

"""Server-side apply: laws that hold for any configurations."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields import (
    ApplyConflict,
    Conflict,
    FieldSet,
    Versions,
    after_apply,
    after_update,
    keeping,
    resetting,
)
from myrmidon.apiserver.fields.owning import claimed
from myrmidon.apiserver.fields.shapes import shape_of
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.schema.structural import compile_schema

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT: Json = {"type": "string"}
SLOT: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "value": TEXT, "weight": {"type": "integer"}},
}
SPEC: Json = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "limits": {"type": "object", "additionalProperties": TEXT},
        "frozen": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": TEXT,
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "steps": {"type": "array", "items": TEXT},
        "slots": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": SLOT,
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
SCHEMA = compile_schema({"type": "object", "properties": {"spec": SPEC}})
VERSIONS = Versions("example.com/v1", SCHEMA)

VALUES = st.sampled_from(["1", "2"])
KEYS = st.sampled_from(["a", "b", "c"])
SLOTS = st.lists(
    st.fixed_dictionaries({"name": KEYS}, optional={"value": VALUES, "weight": st.integers(0, 2)}),
    unique_by=lambda slot: slot["name"],
    max_size=3,
)


def specs() -> st.SearchStrategy[Json]:
    """Draw specs that share fields and have different values in them."""
    return st.fixed_dictionaries(
        {},
        optional={
            "title": VALUES,
            "limits": st.dictionaries(KEYS, VALUES, max_size=2),
            "frozen": st.dictionaries(KEYS, VALUES, max_size=2),
            "tags": st.lists(KEYS, unique=True, max_size=3),
            "steps": st.lists(VALUES, max_size=2),
            "slots": SLOTS,
            "free": st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES), max_size=2),
        },
    )


def config(spec: Json) -> Json:
    """Build a whole object with a spec."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Rack",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def apply(
    live: Json | None, spec: Json, manager: str = "one", *, force: bool = False, later: int = 0
) -> Json:
    """Apply, and store the result."""
    now = NOW + timedelta(seconds=later)
    obj, entries = after_apply(live, config(spec), VERSIONS, manager=manager, now=now, force=force)
    stored = deepcopy(obj)
    stored["metadata"]["uid"] = "1"
    if entries:
        stored["metadata"]["managedFields"] = entries
    return stored


def owned(obj: Json, manager: str) -> FieldSet:
    """Return the fields that a manager owns, by any way of writing."""
    entries = obj["metadata"].get("managedFields", [])
    fields = FieldSet()
    for entry in entries:
        if entry["manager"] == manager:
            fields |= FieldSet(entry["fieldsV1"])
    return fields


def fields_of(spec: Json) -> FieldSet:
    """Return the fields that a configuration claims."""
    return FieldSet(claimed({"spec": spec}, shape_of(SCHEMA)))


def bare(obj: Any) -> Any:
    """Return a value without empty parts, which cannot be owned."""
    if isinstance(obj, dict):
        inner = {key: bare(value) for key, value in obj.items()}
        return {key: value for key, value in inner.items() if value not in ({}, [], None)}
    return obj


@settings(max_examples=50, deadline=None)
@given(spec=specs())
def test_applying_is_idempotent(spec: Json) -> None:
    """A second apply of a converged controller changes nothing, not even times."""
    once = apply(None, spec)
    assume(owned(once, "one"))  # otherwise the server cannot know that a manager has applied
    assert apply(once, spec, later=10) == once


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_the_result_has_the_applied_values(first: Json, second: Json) -> None:
    """A forced apply sets its values, whatever was there before."""
    live = apply(apply(None, first, "one"), second, "two", force=True)
    assert_covered(live.get("spec") or {}, second)


def assert_covered(found: Any, wanted: Any) -> None:
    """Check that all wanted values are there; more may be."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            if value not in ({}, []):
                assert_covered(found[key], value)
    elif isinstance(wanted, list) and wanted and isinstance(wanted[0], dict):
        by_name = {item["name"]: item for item in found}
        for item in wanted:
            assert_covered(by_name[item["name"]], item)
    elif isinstance(wanted, list):
        assert all(item in found for item in wanted)
    else:
        assert found == wanted


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_an_applier_owns_what_it_applied(first: Json, second: Json) -> None:
    """It owns exactly the fields of its last configuration."""
    live = apply(apply(None, first, "one"), second, "one")
    assert owned(live, "one") == fields_of(second)


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_a_forced_apply_takes_the_fields_that_it_changes(first: Json, second: Json) -> None:
    """Afterwards no other manager owns a field whose value it did not set."""
    before = apply(None, first, "one")
    after = apply(before, second, "two", force=True)
    try:
        again = apply(before, second, "two")
    except ApplyConflict as conflict:
        for _, path in conflict.conflicts:
            assert path not in owned(after, "one")
            assert path in owned(after, "two") or path in owned(before, "one")
    else:
        assert again == after


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_a_field_that_its_only_manager_drops_is_removed(first: Json, second: Json) -> None:
    """With one manager, the object is what it applied last."""
    live = apply(apply(None, first, "one"), second, "one")
    assert bare(live.get("spec") or {}) == bare(apply(None, second, "one").get("spec") or {})


@settings(max_examples=50, deadline=None)
@given(shared=specs())
def test_a_field_that_another_manager_owns_stays(shared: Json) -> None:
    """A field is removed only when its last owner drops it."""
    live = apply(apply(None, shared, "one"), shared, "two")
    left = apply(live, {}, "one")
    assert bare(left.get("spec") or {}) == bare(shared)
    gone = apply(left, {}, "two")
    assert bare(gone.get("spec") or {}) == {}


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_conflicts_are_fields_that_others_own(first: Json, second: Json) -> None:
    """Without force, an apply fails exactly if it would change a field of another manager."""
    live = apply(None, first, "one")
    conflicts: tuple[Conflict, ...] = ()
    try:
        apply(live, second, "two")
    except ApplyConflict as conflict:
        conflicts = conflict.conflicts
    assert all(found.path in owned(live, "one") for found in conflicts)


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_an_update_owns_what_it_changes(first: Json, second: Json) -> None:
    """A field that an update set belongs to that update's manager alone."""
    live = apply(None, first, "one")
    new = deepcopy(live) | {"spec": second}
    entries = after_update(live, new, VERSIONS, manager="two", now=NOW)
    after = live | {"metadata": {"managedFields": entries}}
    assert not owned(after, "one").leaves() & owned(after, "two").leaves()
    for name in second.keys() - (live.get("spec") or {}).keys():
        assert ("f:spec", f"f:{name}") in owned(after, "two") or not live["metadata"].get(
            "managedFields"
        )


@settings(max_examples=50, deadline=None)
@given(spec=specs())
def test_a_write_without_effect_keeps_the_entries(spec: Json) -> None:
    """The same list object is returned, so that it need not be compared."""
    live = apply(None, spec)
    entries = live["metadata"].get("managedFields")
    again = after_update(live, deepcopy(live), VERSIONS, manager="two", now=NOW)
    assert again == (entries or [])


@settings(max_examples=50, deadline=None)
@given(first=specs(), second=specs())
def test_nothing_is_changed_in_place(first: Json, second: Json) -> None:
    """Objects of the store are shared."""
    live = apply(None, first, "one")
    before, configuration = deepcopy(live), config(second)
    sent = deepcopy(configuration)
    after_apply(live, configuration, VERSIONS, manager="two", now=NOW, force=True)
    after_update(live, live | {"spec": second}, VERSIONS, manager="two", now=NOW)
    assert live == before
    assert configuration == sent


def test_a_status_writer_owns_nothing_but_status() -> None:
    """A field that a subresource resets is not owned by its writer there."""
    live = apply(None, {"title": "1"})
    new = deepcopy(live) | {"spec": {"title": "2"}}
    entries = after_update(
        live,
        new,
        VERSIONS,
        manager="two",
        now=NOW,
        subresource="status",
        reset=keeping("status"),
    )
    assert entries == live["metadata"]["managedFields"]


def test_reset_fields_of_the_main_path() -> None:
    """A status in a write to the main path is dropped, and has no owner."""
    schema = compile_schema(
        {
            "type": "object",
            "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"a": TEXT}}},
        }
    )
    entries = after_update(
        None,
        config({"title": "1"}) | {"status": {"a": "1"}},
        Versions("example.com/v1", schema),
        manager="one",
        now=NOW,
        reset=resetting("status"),
    )
    assert entries[0]["fieldsV1"] == {"f:spec": {".": {}, "f:title": {}}}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"limits": []}, ".spec.limits: expected map, got &{[]}"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        (
            {"slots": [{"value": "1"}]},
            (
                ".spec.slots: element 0: associative list with keys has an element that omits all"
                ' key fields ["name"] (and doesn\'t have default values for any key fields)'
            ),
        ),
        (
            {"slots": [{"name": "x", "weight": "2"}]},
            '.spec.slots[name="x"].weight: expected numeric (int or float), got string',
        ),
        (
            {"title": 1},
            ".spec.title: expected string, got &value.valueUnstructured{Value:1}",
        ),
    ],
)
def test_what_does_not_fit_is_an_internal_error(spec: Json, problem: str) -> None:
    """The real server answers with a plain 500, too."""
    with pytest.raises(Failure) as caught:
        apply(None, spec)
    assert caught.value.code == 500
    assert caught.value.message == (
        f"failed to create typed patch object (/a; example.com/v1, Kind=Rack): {problem}"
    )


def test_only_the_served_version_can_be_applied() -> None:
    """The version of the body must be that of the path."""
    with pytest.raises(Failure) as caught:
        after_apply(
            None,
            config({}) | {"apiVersion": "example.com/v2"},
            VERSIONS,
            manager="one",
            now=NOW,
        )
    assert caught.value.code == 400


def test_owners_of_another_version_are_asked_in_its_terms() -> None:
    """A field that only one of two versions has is still owned."""
    v2 = compile_schema(
        {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"title": TEXT}}},
        }
    )
    versions = Versions("example.com/v1", SCHEMA, {"example.com/v2": v2}.get)
    live = apply(None, {"title": "1", "steps": ["1"]})
    live["metadata"]["managedFields"][0]["apiVersion"] = "example.com/v2"
    with pytest.raises(ApplyConflict):
        after_apply(live, config({"title": "2"}), versions, manager="two", now=NOW)


def test_owners_of_a_removed_version_are_forgotten() -> None:
    """The fields of that version cannot be resolved any more."""
    live = apply(None, {"title": "1"})
    live["metadata"]["managedFields"][0]["apiVersion"] = "example.com/v0"
    result = after_apply(live, config({"title": "2"}), VERSIONS, manager="two", now=NOW)
    assert [entry["manager"] for entry in result.managed_fields] == ["two"]


def test_a_list_that_became_atomic_is_owned_as_a_whole() -> None:
    """Ownership of its elements no longer applies."""
    atomic = deepcopy(SPEC)
    for extension in ("x-kubernetes-list-type", "x-kubernetes-list-map-keys"):
        del atomic["properties"]["slots"][extension]
    now_atomic = compile_schema({"type": "object", "properties": {"spec": atomic}})
    live = apply(None, {"slots": [{"name": "x"}]})
    new = live | {"spec": {"slots": [{"name": "x"}], "title": "1"}}
    entries = after_update(
        live, new, Versions("example.com/v1", now_atomic), manager="two", now=NOW
    )
    assert entries[0]["fieldsV1"] == {"f:spec": {"f:slots": {}}}

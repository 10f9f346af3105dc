"""Laws of pruning, defaulting and validation, for all schemas and all objects."""

from copy import deepcopy
from typing import Any

from hypothesis import assume, given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.schema.conforming import reshape
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema.nulls import drop_nulls
from myrmidon.apiserver.schema.problems import UNCORRELATED, Report
from myrmidon.apiserver.schema.pruning import prune
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_values, validate
from myrmidon.apiserver.schema.values import compile_node
from tests.apiserver.schema.drawing import admit, contents, schemas


@given(source=schemas(), obj=contents())
def test_pruning_is_idempotent(source: Json, obj: Json) -> None:
    """The second time nothing is dropped, and there are no warnings."""
    schema = compile_schema(source)
    prune(obj, schema)
    pruned = deepcopy(obj)

    assert prune(obj, schema) == []
    assert identical(obj, pruned)


@given(source=schemas(), obj=contents())
def test_pruning_drops_exactly_the_fields_that_it_names(source: Json, obj: Json) -> None:
    """Every missing field was named, or a field around it was."""
    before = deepcopy(obj)
    dropped = prune(obj, compile_schema(source))

    assert dropped == sorted(dropped)
    assert sorted(missing(before, obj, "")) == dropped


def missing(before: Any, after: Any, path: str) -> list[str]:
    """Return the fields that one value has and the other lacks."""
    if isinstance(before, dict):
        found: list[str] = []
        for key, value in before.items():
            where = f"{path}.{key}" if path else key
            found += missing(value, after[key], where) if key in after else [where]
        return found
    if isinstance(before, list):
        return [
            name
            for index, (one, other) in enumerate(zip(before, after, strict=True))
            for name in missing(one, other, f"{path}[{index}]")
        ]
    assert identical(before, after)
    return []


@given(source=schemas(), obj=contents())
def test_known_fields_are_not_pruned(source: Json, obj: Json) -> None:
    """Fields of the schema stay, whatever their values are."""
    kept = obj.keys() & source["properties"].keys()
    prune(obj, compile_schema(source))

    assert kept <= obj.keys()


@given(source=schemas(), obj=contents())
def test_metadata_is_never_pruned(source: Json, obj: Json) -> None:
    """The schema does not apply to metadata."""
    meta = {"apiVersion": "v1", "kind": "K", "metadata": {"anything": [1, {"goes": None}]}}
    obj |= deepcopy(meta)
    prune(obj, compile_schema(source))

    assert meta.items() <= obj.items()


@given(source=schemas(), obj=contents())
def test_defaulting_is_idempotent(source: Json, obj: Json) -> None:
    """A default that was filled in is complete."""
    schema = compile_schema(source)
    default(obj, schema)
    filled = deepcopy(obj)
    default(obj, schema)

    assert identical(obj, filled)


@given(source=schemas(), obj=contents())
def test_defaulting_changes_no_existing_value(source: Json, obj: Json) -> None:
    """Values that were sent stay; only nulls count as absent."""
    sent = deepcopy(obj)
    default(obj, compile_schema(source))

    for key, value in sent.items():
        assert value is None or isinstance(value, dict | list) or identical(obj[key], value)


@given(source=schemas(), obj=contents())
def test_defaults_are_copies(source: Json, obj: Json) -> None:
    """Changing an object must not change the defaults of the next one."""
    schema, pristine = compile_schema(source), deepcopy(source)
    default(obj, schema)
    spoil(obj)

    assert identical(source, pristine)


def spoil(value: Any) -> None:
    """Change every part of a value."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoiled")


@given(source=schemas(), obj=contents())
def test_dropping_nulls_leaves_none_that_validation_refuses(source: Json, obj: Json) -> None:
    """A null that is left is nullable, in a list, in an unknown field, or gets a default."""
    schema = compile_schema(source)
    drop_nulls(obj, schema)
    refused = [cause for cause in validate(obj, schema) if '"null"' in cause.message]

    assert all(cause.field.endswith("]") or has_default(source) for cause in refused)


def has_default(source: Any) -> bool:
    """Whether there is a default anywhere in a schema."""
    if isinstance(source, dict):
        return "default" in source or any(map(has_default, source.values()))
    return False


@given(source=schemas(), obj=contents())
def test_an_admitted_object_is_read_back_unchanged(source: Json, obj: Json) -> None:
    """Reading an object that was just written changes and copies nothing."""
    schema = compile_schema(source)
    assume(not any(admit(deepcopy(filled), schema) for filled in defaults_of(source)))
    admit(obj, schema)

    once = reshape(obj, schema)
    assert reshape(once, schema) == once


def defaults_of(source: Json) -> list[Json]:
    """Return the defaults of the fields of a schema that are objects."""
    return [
        {key: child["default"]}
        for key, child in source["properties"].items()
        if isinstance(child.get("default"), dict)
    ]


@given(source=schemas(), obj=contents())
def test_validation_changes_nothing(source: Json, obj: Json) -> None:
    """Validation does not change an object, also if it is invalid."""
    seen = deepcopy(obj)
    validate(obj, compile_schema(source), {})

    assert identical(obj, seen)


@given(source=schemas(), obj=contents())
def test_validation_says_the_same_twice(source: Json, obj: Json) -> None:
    """A schema that was compiled at first use gives the same result as a new one."""
    schema = compile_schema(source)

    assert validate(obj, schema) == validate(obj, schema) == validate(obj, compile_schema(source))


@given(source=schemas(), obj=contents())
def test_an_update_without_a_change_is_valid(source: Json, obj: Json) -> None:
    """An invalid value in a field that the schema knows may stay.

    Three errors are reported nevertheless, as in the real server: missing required fields at the
    root; a root that does not match a combination; and null as an element of a list.
    """
    schema = compile_schema({"type": "object", "properties": {"spec": source}})
    known = {key: value for key, value in obj.items() if key in source["properties"]}
    prune({"spec": known}, schema)
    old = deepcopy(known)
    found = validate({"spec": known}, schema, {"spec": old})

    assert not found or has_unknown(known, source)


def has_unknown(value: Any, source: Json) -> bool:
    """Whether there is a field that the schema does not know: it always counts as changed."""
    if isinstance(value, dict):
        properties, additional = source.get("properties") or {}, source.get("additionalProperties")
        children = ((value[key], properties.get(key, additional)) for key in value)
        return any(
            not isinstance(child, dict) or has_unknown(item, child) for item, child in children
        )
    return False


@given(source=schemas(), obj=contents(), old=contents())
def test_an_old_object_never_adds_errors(source: Json, obj: Json, old: Json) -> None:
    """With an old object there are at most as many errors as without."""
    schema = compile_schema(source)
    found = check_values(obj, schema, old)

    assert all(cause in check_values(obj, schema) for cause in found)


@given(source=schemas(), obj=contents())
def test_counting_checks_does_not_change_what_they_find(source: Json, obj: Json) -> None:
    """The shortcut for values of a type that always fits does not change the result."""
    check = compile_node(source).check
    quick, counted = Report(), Report(counting=True)
    check(obj, "", UNCORRELATED, quick)
    check(obj, "", UNCORRELATED, counted)

    assert quick.causes("") == counted.causes("")

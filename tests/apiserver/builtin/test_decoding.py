"""Decoding objects of built-in kinds, whatever their content."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.decoding import DecodingError, decode
from myrmidon.apiserver.catalog.resources import builtin_resources
from myrmidon.apiserver.catalog.types import GoType, schema_of

KINDS = [r.kind for r in builtin_resources() if "create" in r.verbs and "get" in r.verbs]
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["", "a", "x.y"]),
    "int32": st.integers(-1, 3),
    "int64": st.integers(-1, 3),
    "number": st.sampled_from([0, 0.5, 2]),
    "boolean": st.booleans(),
    "bytes": st.sampled_from(["", "YQ==", "YWI="]),
    "quantity": st.sampled_from(["0", "1.5", "1024Mi", 3]),
    "int-or-string": st.sampled_from([0, 80, "web", "25%"]),
    "time": st.sampled_from(["2024-01-01T00:00:00Z", "2024-01-01T02:00:00.5+02:00"]),
    "micro-time": st.just("2024-01-01T02:00:00.500000+02:00"),
    "raw": st.sampled_from([{}, {"a": 1}]),
    "schema-or-other": st.sampled_from([True, {"type": "string"}]),
}


def values(schema: GoType, depth: int) -> st.SearchStrategy[Any]:
    """Draw values that fit a type, with nulls and empty values among them."""
    if schema.shape in SCALARS:
        return SCALARS[schema.shape]
    if depth == 0:
        return st.just([] if schema.shape == "list" else {})
    if schema.shape == "list":
        assert isinstance(schema.items, GoType)
        return st.lists(st.none() | values(schema.items, depth - 1), max_size=2)
    if schema.shape == "map":
        assert isinstance(schema.additional, GoType)
        inside = st.none() | values(schema.additional, depth - 1)
        return st.dictionaries(st.sampled_from(["a", "b"]), inside, max_size=2)
    return objects(schema, depth)


@st.composite
def objects(draw: st.DrawFn, schema: GoType, depth: int = 5) -> Json:
    """Objects of a struct: some of its fields, drawn one by one."""
    names = draw(st.lists(st.sampled_from(sorted(schema.properties)), max_size=4, unique=True))
    obj = {}
    for name in names:
        field = schema.properties[name]
        assert isinstance(field, GoType)
        obj[name] = draw(st.none() | values(field, depth - 1))
    return obj


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(KINDS))
def test_decoding_is_idempotent(data: st.DataObject, kind: Any) -> None:
    """An object that the server wrote is read back unchanged, so that a no-op is recognised."""
    schema = schema_of(kind)
    obj = data.draw(objects(schema))
    before = deepcopy(obj)
    once = decode(obj, schema)
    assert decode(once.object, schema) == (once.object, [])
    assert obj == before, "the argument was changed"
    assert not once.unknown


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["metadata", "spec", "data", "labels"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    ),
)
def test_any_json_is_read_or_refused(kind: Any, body: Any) -> None:
    """No other exception is raised, whatever is sent."""
    with suppress(DecodingError):
        decode(body, schema_of(kind))


def test_unknown_fields_are_named_by_their_paths() -> None:
    """Warnings and strict validation name the field."""
    kind = next(kind for kind in KINDS if kind.kind == "Deployment")
    container = {"name": "a", "imagee": "x"}
    body = {"metaData": {}, "spec": {"template": {"spec": {"containers": [container]}}}}
    assert decode(body, schema_of(kind)).unknown == [
        "metaData",
        "spec.template.spec.containers[0].imagee",
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.api_version}-{kind.kind}")
def test_every_kind_has_a_type(kind: Any) -> None:
    """An empty object of each kind can be read."""
    assert decode({"metadata": {"name": "a"}}, schema_of(kind)).object["metadata"]["name"] == "a"

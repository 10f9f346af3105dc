"""From the object that a user passes to the manifest that is sent."""

import math
from base64 import b64decode
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_asyncio.client import (
    V1ConfigMap,
    V1ObjectMeta,
    V1OwnerReference,
    V1Secret,
)

from myrmidon.api import Model as ApiModel
from myrmidon.api import Quantity, Resource, Status
from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.json_values import DEPTH_MAX
from myrmidon.errors import OutputError
from myrmidon.sets.outputs.identification import check_identified
from myrmidon.sets.outputs.manifests import manifest_of
from tests.fsm.things import Thing, ThingSpec
from tests.strategies import documents


@given(spec=documents())
def test_a_manifest_is_a_copy(spec: Json) -> None:
    """Later changes to the original do not reach the output; explicit None stays."""
    original = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": spec}
    manifest = manifest_of(original)

    assert manifest == original
    assert manifest["spec"] is not spec
    assert manifest["metadata"] is not original["metadata"]


def test_fields_that_only_the_server_sets_are_dropped() -> None:
    """An object that was read can be applied again; resourceVersion and uid stay for locks."""
    manifest = manifest_of(
        {
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "1", "generation": 1,
                "managedFields": [], "creationTimestamp": "x", "deletionTimestamp": "x",
                "deletionGracePeriodSeconds": 0, "selfLink": "x",
            },
            "status": {"x": 1},
        }
    )  # fmt: skip

    assert manifest == {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}}
    assert manifest_of({"metadata": None}) == {"metadata": None}


@given(texts=st.dictionaries(st.sampled_from("abc"), st.text(max_size=5) | st.none(), max_size=3))
def test_a5_string_data_is_compared_as_data(texts: dict[str, str | None]) -> None:
    """The server never sends stringData back."""
    secret = {"kind": "Secret", "data": {"a": "b2xk", "z": "eg=="}, "stringData": texts}
    data = manifest_of(secret)["data"]

    assert data["z"] == "eg=="
    assert "stringData" not in manifest_of(secret)
    for key, text in texts.items():
        assert (data[key] and b64decode(data[key]).decode()) == (text or data[key])
    assert manifest_of({"kind": "Secret", "stringData": None}) == {"kind": "Secret", "data": {}}
    assert "stringData" in manifest_of({"kind": "ConfigMap", "stringData": {}})


def test_typed_resources_send_what_was_set() -> None:
    """Unset fields are not sent, None is sent as null, and the status is never sent."""
    thing = Thing(name="a", spec=ThingSpec(size=1, note=None))

    assert manifest_of(thing) == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"size": 1, "note": None},
    }


def test_client_models_are_manifests() -> None:
    """In models of kubernetes-asyncio, None means not set."""
    owner = V1OwnerReference(api_version="v1", kind="X", name="x", uid="u")
    meta = V1ObjectMeta(
        name="a",
        labels={"app": "web"},
        owner_references=[owner],
        creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    )
    model = V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=meta, data={"a": "b"})
    secret = V1Secret(string_data={"k": "v"})

    assert manifest_of(model) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}],
        },
        "data": {"a": "b"},
    }
    assert manifest_of(secret) == {"apiVersion": "v1", "kind": "Secret", "data": {"k": "dg=="}}


class Model:
    """A model like those of the client, as far as this matters here."""

    attribute_map = {"when": "when", "day": "day", "many": "many"}  # noqa: RUF012 - as the client has it

    when = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    day = date(2026, 1, 2)
    many = (1, {"a": [2]})


def test_times_in_models_are_written_as_kubernetes_writes_them() -> None:
    """In UTC, with whole seconds."""
    assert manifest_of(Model()) == {
        "when": "2026-01-02T03:04:05Z",
        "day": "2026-01-02",
        "many": [1, {"a": [2]}],
    }


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (
            7,
            (
                "7 is not an object that can be applied or deleted.\n"
                "  fix: pass a manifest (dict), a Resource, or a kubernetes-asyncio model"
            ),
        ),
        (
            {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {1: 2}},
            (
                "ConfigMap a cannot be written as JSON: data has a key of type int, which is not a string.\n"
                "  fix: write str(...) around the key"
            ),
        ),
        (
            {"kind": "ConfigMap", "data": object},
            (
                "ConfigMap (no name) cannot be written as JSON: data is of type type, which JSON does not have.\n"
                "  fix: use strings, numbers, booleans, None, lists and dicts with string keys"
            ),
        ),
    ],
    ids=["not an object", "key", "value"],
)
def test_what_is_not_an_object_is_refused(obj: Any, text: str) -> None:
    """The error says what it is and what it should be."""
    with pytest.raises(OutputError) as caught:
        manifest_of(obj)

    assert str(caught.value) == text


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
ODD = (
    st.binary(max_size=3)
    | st.decimals(allow_nan=True)
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.frozensets(st.integers(), max_size=2)
    | st.sampled_from([object(), Model, Quantity("500m"), range(2), 1j, ...])
)
ANYTHING = st.recursive(
    PLAIN | ODD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(value=ANYTHING)
def test_a_value_is_sent_as_it_is_or_refused_with_its_path(value: Any) -> None:
    """Values are never changed silently: NaN does not become null, a lone surrogate not "?"."""
    obj = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": {"value": value}}
    try:
        manifest = manifest_of(obj)
    except OutputError as error:
        assert str(error).startswith("X a cannot be written as JSON: spec.value")  # noqa: PT017
        assert "\n  fix: " in str(error)  # noqa: PT017
        str(error).encode()
        return
    sent = orjson.dumps(manifest)
    assert same_value(orjson.loads(sent)["spec"]["value"], value)


def same_value(sent: Any, value: Any) -> bool:
    """Whether the JSON has the same meaning as the value."""
    match value:
        case bool() | None:
            return sent is value
        case list() | tuple():
            return len(sent) == len(value) and all(map(same_value, sent, value))
        case dict():
            return sent.keys() == value.keys() and all(
                same_value(sent[key], value[key]) for key in value
            )
        case datetime():
            return datetime.fromisoformat(sent) == value
        case date():
            return date.fromisoformat(sent) == value
        case Quantity():
            return Quantity(sent) == value
        case _:
            return bool(sent == value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("beside", [{}, {"other": None}, {"other": "null"}, {"other": 2**60}])
def test_a_number_that_json_does_not_have_is_refused(number: float, beside: Json) -> None:
    """The encoder writes null for it, which would delete the field in a merge patch."""
    with pytest.raises(
        OutputError, match=r"spec\.rate is -?(nan|inf), and JSON has no such number"
    ):
        manifest_of({"kind": "X", "metadata": {"name": "a"}, "spec": {"rate": number, **beside}})


def test_an_object_that_contains_itself_or_is_too_deep_is_refused() -> None:
    """The error has the path and is raised before the encoder fails."""
    loop: Json = {"kind": "X", "metadata": {"name": "a"}}
    loop["spec"] = {"again": loop}
    with pytest.raises(
        OutputError, match=r"X a cannot be written as JSON: spec\.again contains itself"
    ):
        manifest_of(loop)

    deep: Any = "x"
    for _ in range(DEPTH_MAX - 1):
        deep = [deep]
    assert orjson.dumps([manifest_of({"spec": deep})])
    with pytest.raises(OutputError, match=f"nested deeper than {DEPTH_MAX} levels"):
        manifest_of({"spec": [deep]})


def test_a_large_integer_is_sent_exactly() -> None:
    """This holds for all 64-bit integers, which the server keeps."""
    assert manifest_of({"spec": {"a": 2**63 - 1}}) == {"spec": {"a": 2**63 - 1}}
    with pytest.raises(OutputError, match="more than 64 bits"):
        manifest_of({"spec": {"a": 2**63}})


class FreeSpec(ApiModel):
    """A spec with a part that has no schema."""

    free: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class Free(Resource[FreeSpec, Status], group="example.com", version="v1"):
    """A resource that holds anything."""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (math.nan, "Free a cannot be written as JSON: spec.free.x is nan"),
        ("\ud800", "Free a cannot be written as JSON: spec.free.x holds half of a surrogate pair"),
        (object(), "Free(a) cannot be written as JSON: spec.free.x is of type object"),
        (b"\xff", "Free(a) cannot be written as JSON: spec.free.x is of type bytes"),
    ],
    ids=["nan", "surrogate", "object", "bytes"],
)
def test_a_typed_resource_is_refused_like_a_manifest(value: Any, told: str) -> None:
    """Fields without a type in its model can hold any value."""
    it = Free(name="a", spec=FreeSpec())
    it.spec.free["x"] = value

    with pytest.raises(OutputError) as caught:
        manifest_of(it)
    assert str(caught.value).startswith(told)


class Untold:
    """An object whose to_json fails."""

    def to_json(self) -> Json:
        """Raise."""
        raise RuntimeError("not today")

    def __repr__(self) -> str:
        return "Untold"


class Endless:
    """A client model that contains itself."""

    attribute_map = {"itself": "itself"}  # noqa: RUF012 - as the client has it

    @property
    def itself(self) -> "Endless":
        """Return the object."""
        return self

    def __repr__(self) -> str:
        return "Endless"


def test_an_object_whose_to_json_fails_says_why() -> None:
    """The error is reported instead of breaking the pass."""
    with pytest.raises(
        OutputError, match="Untold cannot be written as JSON: RuntimeError: not today"
    ):
        manifest_of(Untold())
    with pytest.raises(OutputError, match="Endless cannot be written as JSON: RecursionError"):
        manifest_of(Endless())


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"stringData": {"port": 5432}}, "Secret a: stringData.port is of type int"),
        ({"stringData": ["a"]}, "Secret a: stringData is of type list"),
        ({"stringData": {"a": "b"}, "data": "text"}, "Secret a: data is of type str"),
    ],
    ids=["value", "stringData", "data"],
)
def test_a_secret_holds_strings(parts: Json, told: str) -> None:
    """The server would refuse other values with a less helpful message."""
    with pytest.raises(OutputError, match=told):
        manifest_of({"kind": "Secret", "metadata": {"name": "a"}, **parts})


def test_a_mapping_that_is_not_a_dict_is_a_manifest() -> None:
    """Such as a read-only view of one."""
    declared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert manifest_of(MappingProxyType(declared)) == declared


def test_a_class_is_not_an_object() -> None:
    """It is the class of one."""

    class Shop(dict[str, Any]):
        """A manifest."""

    with pytest.raises(OutputError) as error:
        manifest_of(Shop)
    assert str(error.value) == (
        "the class Shop is not an object that can be applied.\n"
        "  fix: pass an object of it, such as Shop(...)"
    )


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (
            {"kind": "Pod"},
            "an object without apiVersion cannot be applied or deleted: Pod (no name)",
        ),
        ({"apiVersion": "v1"}, "an object without kind cannot be"),
        ({"apiVersion": "v1", "kind": 1}, "kind of 1 (no name) is 1, which is not a string"),
        ({"apiVersion": "v1", "kind": "Pod"}, "an object without metadata.name cannot be"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": []}, "an object without metadata.name"),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": 1},
            "metadata of Pod (no name) is 1, which",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}},
            "metadata.name of Pod 1 is 1",
        ),
    ],
)
def test_an_object_that_is_not_identified(manifest: Any, problem: str) -> None:
    """The message names the field."""
    with pytest.raises(OutputError) as error:
        check_identified(manifest)
    assert str(error.value).startswith(problem)
    assert "\n  fix: " in str(error.value)


def test_an_object_that_is_identified() -> None:
    """By apiVersion, kind and name."""
    check_identified({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})

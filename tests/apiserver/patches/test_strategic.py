"""Strategic merge patch on the types of a Deployment."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog.types import schema_of
from myrmidon.apiserver.patches.strategic import StrategicPatchError, strategic_merge

DEPLOYMENT = schema_of(Kind("apps", "v1", "Deployment", "deployments"))


def pods(**spec: Any) -> Json:
    """Build a Deployment, or a patch of one, with this in its pods' spec."""
    return {"spec": {"template": {"spec": spec}}}


def merged(original: Json, patch: Json) -> Json:
    """Return the pods' spec after a patch of it."""
    result = strategic_merge(pods(**original), pods(**patch), DEPLOYMENT)
    spec: Json = result["spec"]["template"]["spec"]
    return spec


def names(items: list[Json]) -> list[str]:
    """Return the names of list elements."""
    return [item["name"] for item in items]


LIVE: Json = {
    "containers": [
        {"name": "main", "image": "m:1", "args": ["a"], "env": [{"name": "A", "value": "1"}]},
        {"name": "side", "image": "s:1"},
    ],
    "tolerations": [{"key": "a"}],
    "nodeSelector": {"a": "1"},
}


@pytest.mark.parametrize(
    ("containers", "order"),
    [
        ([{"name": "side", "image": "s:2"}], ["main", "side"]),
        ([{"name": "third"}], ["third", "main", "side"]),
        ([{"name": "main"}, {"name": "third"}], ["main", "third", "side"]),
        ([{"name": "side"}, {"name": "main"}], ["side", "main"]),
        ([{"name": "side", "$patch": "delete"}], ["main"]),
        ([{"$patch": "replace"}, {"name": "only"}], ["only"]),
        ([], ["main", "side"]),
    ],
)
def test_containers_merge_by_name(containers: list[Json], order: list[str]) -> None:
    """New ones come first, existing ones keep their place, in the order of the patch."""
    assert names(merged(LIVE, {"containers": containers})["containers"]) == order


def test_an_order_in_the_patch_overrides() -> None:
    """``$setElementOrder`` is what kubectl sends."""
    patch = {
        "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
        "containers": [{"name": "main", "image": "m:2"}],
    }
    spec = merged(LIVE, patch)
    assert names(spec["containers"]) == ["side", "main"]
    assert spec["containers"][1]["image"] == "m:2"


def test_lists_without_a_key_are_replaced() -> None:
    """Arguments and tolerations are those of the patch."""
    patch = {"containers": [{"name": "main", "args": ["b"]}], "tolerations": [{"key": "b"}]}
    spec = merged(LIVE, patch)
    assert spec["containers"][0]["args"] == ["b"]
    assert spec["tolerations"] == [{"key": "b"}]


def test_null_deletes() -> None:
    """Maps, lists and fields of list elements."""
    patch = {
        "nodeSelector": {"a": None, "b": "2"},
        "tolerations": None,
        "containers": [{"name": "main", "env": None}],
    }
    spec = merged(LIVE, patch)
    assert spec["nodeSelector"] == {"b": "2"}
    assert "tolerations" not in spec
    assert "env" not in spec["containers"][0]


def test_maps_can_be_replaced_and_emptied() -> None:
    """By ``$patch`` in the map."""
    replaced = merged(LIVE, {"nodeSelector": {"$patch": "replace", "b": "2"}})
    assert replaced["nodeSelector"] == {"b": "2"}
    assert merged(LIVE, {"nodeSelector": {"$patch": "delete"}})["nodeSelector"] == {}


def test_retain_keys_drops_the_others() -> None:
    """This is how a volume or strategy changes its type."""
    original = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    result = strategic_merge(original, patch, DEPLOYMENT)
    assert result["spec"]["strategy"] == {"type": "Recreate"}


def test_a_key_of_another_type_is_another_key() -> None:
    """``1 == true`` in Python, and ``1 == 1.0``; in Go the keys differ, so elements are added."""
    port = {"containerPort": 1, "name": "one"}
    original = {"containers": [{"name": "c", "ports": [port]}]}
    for key in (True, 1.0):
        patch = {"containers": [{"name": "c", "ports": [{"containerPort": key}]}]}
        (container,) = merged(original, patch)["containers"]
        assert len(container["ports"]) == 2


def test_finalizers_are_added_and_removed() -> None:
    """A list of scalars merges by value."""

    def finalizers(patch: Json) -> Any:
        original = {"metadata": {"finalizers": ["a", "b"]}}
        return strategic_merge(original, {"metadata": patch}, DEPLOYMENT)["metadata"].get(
            "finalizers"
        )

    assert finalizers({"finalizers": ["c"]}) == ["c", "a", "b"]
    assert finalizers({"finalizers": ["b"]}) == ["a", "b"]
    assert finalizers({"finalizers": []}) == ["a", "b"]
    assert finalizers({"$deleteFromPrimitiveList/finalizers": ["a"]}) == ["b"]
    assert finalizers({"finalizers": None}) is None


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (
            {"nodeSelector": {"$patch": "nonsense"}},
            500,
            "unknown patch type: nonsense in map: map[$patch:nonsense]",
        ),
        (
            {"containers": [{"image": "x"}]},
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"nodeSelector": {"$retainKeys": ["a"], "b": "1"}},
            400,
            "invalid patch format of retainKeys",
        ),
        (
            {"$setElementOrder": []},
            400,
            "invalid patch format of setElementOrder list",
        ),
        (
            {"$deleteFromPrimitiveList": []},
            400,
            "invalid patch format of primitive list",
        ),
        (
            {"containers": ["text"]},
            500,
            (
                "list element types are not identical: [[map[args:[a]"
                " env:[map[name:A value:1]] image:m:1 name:main] map[image:s:1 name:side]] [text]]"
            ),
        ),
    ],
)
def test_patches_that_cannot_be_merged(patch: Json, code: int, message: str) -> None:
    """With the status and the message of the real server."""
    with pytest.raises(StrategicPatchError) as caught:
        merged(LIVE, patch)
    assert (caught.value.code, str(caught.value)) == (code, message)


NAMES = st.sampled_from(["main", "side", "third"])
ENV = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("AB")}, optional={"value": st.just("2")}),
    unique_by=lambda item: item["name"],
    max_size=2,
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES}, optional={"image": st.sampled_from(["x", "y"]), "env": ENV}
    ),
    unique_by=lambda item: item["name"],
    max_size=3,
)
PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "containers": CONTAINERS,
        "nodeSelector": st.dictionaries(st.sampled_from("ab"), st.none() | st.just("1")),
        "tolerations": st.none() | st.just([{"key": "z"}]),
    },
)


@settings(deadline=None)
@given(patch=PATCHES)
def test_a_merge_is_idempotent(patch: Json) -> None:
    """For patches without directives; the arguments are not changed in place."""
    before = deepcopy((LIVE, patch))
    once = merged(LIVE, patch)
    assert merged(once, patch) == once
    assert (LIVE, patch) == before


@settings(deadline=None)
@given(patch=PATCHES)
def test_fields_and_elements_outside_the_patch_stay(patch: Json) -> None:
    """Elements of lists included."""
    spec = merged(LIVE, patch)
    for container in LIVE["containers"]:
        assert container["name"] in names(spec["containers"])
    for field in LIVE.keys() - patch.keys():
        assert spec[field] == LIVE[field]

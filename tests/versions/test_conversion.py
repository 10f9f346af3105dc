"""Objects convert to another version and back without losing a field."""

from typing import Any, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from myrmidon import Model, Resource, Status
from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ConversionError
from myrmidon.webhooks.versions import convert, versions_of
from myrmidon.webhooks.versions.conversion import FIELDS_OF
from tests.versions.apps import GROUP, App, AppSpec, AppV1Beta1, OldAppSpec, Port, hub, spoke

OF_V1, OF_V1BETA1 = f"{FIELDS_OF}v1", f"{FIELDS_OF}v1beta1"


def to_hub(obj: Json) -> Json:
    """Convert from v1beta1 to v1."""
    return convert(obj, AppV1Beta1, App)


def to_spoke(obj: Json) -> Json:
    """Convert from v1 to v1beta1."""
    return convert(obj, App, AppV1Beta1)


PORT = st.fixed_dictionaries(
    {"name": st.sampled_from("abc"), "port": st.integers(1, 4), "encrypted": st.booleans()}
)
HUBS = st.builds(
    hub,
    replicas=st.integers(0, 3),
    ports=st.lists(PORT, max_size=3, unique_by=lambda port: port["name"]),
) | st.builds(hub, owner=st.sampled_from(("me", "you")), novelty=st.just({"a": [1]}))
SPOKES = st.builds(
    spoke, size=st.integers(0, 3), portNumbers=st.lists(st.integers(1, 4), max_size=3)
) | st.builds(spoke, note=st.text(max_size=3), novelty=st.just(True))


@pytest.mark.law("V1")
@settings(max_examples=40)
@given(HUBS)
def test_a_hub_comes_back_from_a_spoke(obj: Json) -> None:
    """Unknown fields included; the second way back is as good as the first."""
    there = to_spoke(obj)
    assert to_hub(there) == obj
    assert to_spoke(to_hub(there)) == there


@pytest.mark.law("V1")
@settings(max_examples=40)
@given(SPOKES)
def test_a_spoke_comes_back_from_a_hub(obj: Json) -> None:
    """Unknown fields included; the second way back is as good as the first."""
    there = to_hub(obj)
    assert to_spoke(there) == obj
    assert to_hub(to_spoke(there)) == there


@pytest.mark.law("V1")
@settings(max_examples=40)
@given(HUBS, st.integers(0, 9), st.lists(st.integers(5, 9), min_size=1, max_size=3))
def test_an_edit_in_the_other_version_wins(obj: Json, size: int, numbers: list[int]) -> None:
    """And leaves the fields alone that the other version does not show."""
    seen = to_spoke(obj)
    edited = {**seen, "spec": {**seen["spec"], "size": size, "portNumbers": numbers}}

    spec = to_hub(edited)["spec"]

    assert spec["replicas"] == size
    assert [port["port"] for port in spec["ports"]] == numbers
    assert (spec.get("owner"), spec.get("novelty")) == (
        obj["spec"].get("owner"), obj["spec"].get("novelty"),
    )  # fmt: skip


def test_an_edit_of_the_hub_wins_over_what_a_spoke_said() -> None:
    """The spoke then shows the edit, and still what only it can say."""
    stored = to_hub(spoke(note="mine", size=3))
    stored["spec"]["replicas"] = 7

    assert to_spoke(stored)["spec"] == spoke(note="mine", size=7)["spec"]


def test_nothing_lost_means_no_annotation() -> None:
    """An object that both versions express looks as if there were one version."""
    assert to_spoke(hub()) == spoke()
    assert to_hub(spoke()) == hub()


def test_the_annotation_names_the_version_of_its_fields() -> None:
    """It is on the object in the other version only."""
    assert list(to_spoke(hub(owner="me"))["metadata"]["annotations"]) == [OF_V1]
    assert list(to_hub(spoke(note="a"))["metadata"]["annotations"]) == [OF_V1BETA1]
    back = to_hub(to_spoke(hub(owner="me", annotations={"a": "b"})))
    assert back["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.law("V1")
def test_the_annotation_does_not_grow() -> None:
    """However often an object goes back and forth, and is edited on the way."""
    obj = hub(owner="me", ports=[{"name": "http", "port": 80, "encrypted": True}])
    sizes = set()
    for number in range(20):
        seen = to_spoke(obj)
        seen["spec"]["size"] = number
        sizes.add(len(seen["metadata"]["annotations"][OF_V1]))
        obj = to_hub(seen)
    assert len(sizes) == 1
    assert "annotations" not in obj["metadata"]


def test_an_annotation_that_a_client_has_broken_is_left_out() -> None:
    """The object converts as if nothing had been remembered."""
    broken = spoke(annotations={OF_V1: "{", OF_V1BETA1: "{}", "a": "b"})

    assert to_hub(broken) == hub(annotations={"a": "b"})


def test_remembered_fields_that_do_not_fit_are_refused() -> None:
    """A client could write them by hand."""
    forged = spoke(annotations={OF_V1: '{"f":{"spec":{"f":{"owner":{"v":7}}}}}'})

    with pytest.raises(ConversionError, match=r"spec\.owner"):
        to_hub(forged)


def test_metadata_is_carried_over() -> None:
    """The server refuses to change anything but labels and annotations."""
    metadata = {"name": "one", "uid": "u", "finalizers": ["a.b/c"], "labels": {"l": "1"}}

    assert to_hub(spoke() | {"metadata": metadata})["metadata"] == metadata


def test_a_status_of_the_same_class_is_carried_over() -> None:
    """No function has to mention it."""
    status = {"url": "http://one", "conditions": [], "unknown": 1}

    assert to_hub(spoke() | {"status": status})["status"] == status


def test_defaults_are_filled_in() -> None:
    """As the server has done before it converts; fields that are None stay out."""
    bare = {**spoke(), "spec": {"image": "shop:1"}}

    assert to_hub(bare)["spec"] == hub()["spec"]
    assert to_spoke(to_hub(bare)) == spoke()


def test_an_object_without_spec_converts() -> None:
    """The hub may have only defaults."""

    class Inner(Model):
        deep: int = 1
        absent: str | None = None

    class Loose(Model):
        size: int = 1
        inner: Inner = Inner(deep=2)
        inners: list[Inner] = Field(default_factory=lambda: [Inner()])

    class Thing(Resource[Loose, Status], group=GROUP, version="v1"):
        pass

    class OldThing(Resource[Loose, Status], version="v1beta1", converts=Thing):
        def to_hub(self) -> Thing:
            return Thing(name=self.name)

        @classmethod
        def from_hub(cls, hub: Thing) -> Self:
            return cls(name=hub.name)

    bare = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Thing", "metadata": {"name": "a"}}
    assert convert(bare, OldThing, Thing) == {**bare, "apiVersion": f"{GROUP}/v1"}
    filled = {"size": 7, "inner": {"deep": 2}, "inners": [{"deep": 1}]}
    old = convert({**bare, "spec": {"size": 7}}, OldThing, Thing)
    assert convert(old, Thing, OldThing)["spec"] == filled


def test_a_status_of_another_class_is_given_by_the_function() -> None:
    """What it leaves out is remembered like any field."""

    class OldStatus(Status):
        address: str | None = None

    class NewStatus(Status):
        url: str | None = None

    class Thing(Resource[AppSpec, NewStatus], group=GROUP, version="v1"):
        pass

    class OldThing(Resource[AppSpec, OldStatus], version="v1beta1", converts=Thing):
        def to_hub(self) -> Thing:
            return Thing(name=self.name, spec=self.spec, status=NewStatus(url=self.status.address))

        @classmethod
        def from_hub(cls, hub: Thing) -> Self:
            return cls(name=hub.name, spec=hub.spec, status=OldStatus(address=hub.status.url))

    old = hub() | {"apiVersion": f"{GROUP}/v1beta1", "kind": "Thing"}
    old["status"] = {"address": "http://one", "observedGeneration": 3}
    new = convert(old, OldThing, Thing)
    assert new["status"] == {"url": "http://one"}
    assert convert(new, Thing, OldThing) == old


def test_too_much_to_remember_is_an_error() -> None:
    """Annotations are limited; to convert such an object would lose data."""
    with pytest.raises(ConversionError) as caught:
        to_hub(spoke(note="x" * 300_000))
    assert str(caught.value) == (
        f"App one ({GROUP}/v1beta1) cannot be converted to v1: 300,038 bytes of fields that v1 cannot express "
        "would have to be kept in annotations, which would then have 300,068 bytes; the server allows 262,144.\n"
        "  fix: let to_hub and from_hub convert the large fields"
    )
    large = hub(annotations={"a": "x" * 300_000})
    assert to_spoke(large)["metadata"] == large["metadata"], "not our annotation"


def test_an_exception_of_the_author_says_where_it_came_from() -> None:
    """The message names the object, the function and the exception."""
    with pytest.raises(ConversionError) as caught:
        to_hub(spoke(image="unconvertible"))
    assert str(caught.value) == (
        f"App one ({GROUP}/v1beta1) cannot be converted to v1: "
        "AppV1Beta1.to_hub raised ValueError: this image cannot be converted"
    )


def test_a_model_that_a_function_cannot_build_says_which_field() -> None:
    """In one line."""
    with pytest.raises(ConversionError) as caught:
        to_spoke(hub(image="refused"))
    assert str(caught.value) == (
        f"App one ({GROUP}/v1) cannot be converted to v1beta1: AppV1Beta1.from_hub made a OldAppSpec "
        "that does not fit: image: String should have at least 1 character"
    )


def test_an_object_that_does_not_fit_its_model_says_which_field() -> None:
    """The author's function is not called with it."""
    with pytest.raises(ConversionError, match=r"spec\.size: Input should be a valid integer"):
        to_hub(spoke(size="three"))
    with pytest.raises(ConversionError, match=r"spec\.image: Field required"):
        to_hub({key: value for key, value in spoke().items() if key != "spec"})


def test_a_function_that_returns_another_class_is_told() -> None:
    """For example one that forgets to return."""

    class Thing(Resource[AppSpec, Status], group=GROUP, version="v1"):
        pass

    class OldThing(Resource[AppSpec, Status], version="v1beta1", converts=Thing):
        def to_hub(self) -> Any:
            return None

        @classmethod
        def from_hub(cls, hub: Any) -> Any:
            return hub

    obj = {**spoke(), "kind": "Thing"}
    with pytest.raises(ConversionError, match=r"OldThing.to_hub returned NoneType, not Thing"):
        convert(obj, OldThing, Thing)
    with pytest.raises(ConversionError, match=r"OldThing.from_hub returned Thing, not OldThing"):
        convert(obj, Thing, OldThing)


class LegacySpec(Model):
    """What the oldest version says."""

    container: str
    colour: str | None = None


class AnyApp(Resource[AppSpec, Status], group=GROUP, version="v2"):
    """A hub with two spokes."""


class Middle(Resource[OldAppSpec, Status], version="v1", converts=AnyApp):
    """A spoke."""

    def to_hub(self) -> AnyApp:
        """Keep the image."""
        return AnyApp(name=self.name, spec=AppSpec(image=self.spec.image))

    @classmethod
    def from_hub(cls, hub: AnyApp) -> Self:
        """Keep the image."""
        return cls(name=hub.name, spec=OldAppSpec(image=hub.spec.image))


class Legacy(Resource[LegacySpec, Status], version="v1alpha1", converts=AnyApp):
    """Another spoke, which turns a label into a field and back."""

    def to_hub(self) -> AnyApp:
        """Take the owner from a label."""
        spec = AppSpec(image=self.spec.container, owner=self.labels.get("owner"))
        others = {key: value for key, value in self.labels.items() if key != "owner"}
        return AnyApp(name=self.name, labels=others, spec=spec)

    @classmethod
    def from_hub(cls, hub: AnyApp) -> Self:
        """Write the owner to a label."""
        labels = {**hub.labels, **({"owner": hub.spec.owner} if hub.spec.owner else {})}
        return cls(name=hub.name, labels=labels, spec=LegacySpec(container=hub.spec.image))


def legacy() -> Json:
    """Return an object of the oldest version."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "AnyApp",
        "metadata": {"name": "one", "labels": {"owner": "me", "tier": "web"}},
        "spec": {"container": "shop:1", "colour": "red"},
    }


def test_two_spokes_convert_by_way_of_the_hub() -> None:
    """What both others cannot say is carried along."""
    middle = convert(legacy(), Legacy, Middle)

    assert sorted(middle["metadata"]["annotations"]) == [f"{FIELDS_OF}v1alpha1", f"{FIELDS_OF}v2"]
    assert convert(middle, Middle, Legacy) == legacy()


def test_labels_may_become_fields() -> None:
    """Labels and annotations that a function gives replace those of the object."""
    made = convert(legacy(), Legacy, AnyApp)

    assert made["metadata"]["labels"] == {"tier": "web"}
    assert made["spec"]["owner"] == "me"


def test_all_versions_of_a_kind_are_found() -> None:
    """From any of them; the hub comes first."""
    classes = [AnyApp, Middle, Legacy]

    assert list(versions_of(Legacy).values()) == list(versions_of(AnyApp).values()) == classes
    assert convert(legacy(), Legacy, Legacy) == legacy()


@pytest.mark.law("V1")
@settings(max_examples=30)
@given(st.lists(st.sampled_from((AnyApp, Middle, Legacy)), max_size=6))
def test_any_way_through_the_versions_leads_back(way: list[type[Resource[Any, Any]]]) -> None:
    """However long it is."""
    obj = legacy()
    current: type[Resource[Any, Any]] = Legacy
    for following in way:
        obj, current = convert(obj, current, following), following

    assert convert(obj, current, Legacy) == legacy()


def test_ports_of_the_hub_keep_their_names_after_an_edit_elsewhere() -> None:
    """The example of the documentation."""
    ports = [Port(name="http", port=80, encrypted=True).to_wire()]
    seen = to_spoke(hub(ports=ports))
    seen["spec"]["size"] = 5

    assert to_hub(seen)["spec"]["ports"] == ports

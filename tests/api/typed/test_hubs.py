"""The class statements of versions: what a spoke takes from its hub, and which mistakes are told."""

from typing import Any, Self

import pytest

from myrmidon import Model, Resource, Status, kinds
from myrmidon.api.typed.hubs import check_is_hub, hub_of
from myrmidon.errors import DefinitionError


class Spec(Model):
    """A spec."""

    size: int = 1


class Functions:
    """The two functions of a spoke."""

    def to_hub(self) -> Any:
        """Not called here."""

    @classmethod
    def from_hub(cls, hub: Any) -> Any:
        """Not called here."""


def make_hub(**arguments: Any) -> Any:
    """Define a hub."""

    class Hub(
        Resource[Spec, Status],
        **{"group": "a.example.com", "version": "v1", "kind": "Thing", **arguments},
    ):
        pass

    return Hub


def make_spoke(hub: Any, functions: type[Any] = Functions, **arguments: Any) -> Any:
    """Define a spoke."""

    class Old(
        functions,  # type: ignore[misc]  # a base that is an argument
        Resource[Spec, Status],
        **{"version": "v1beta1", "converts": hub, **arguments},
    ):
        pass

    return Old


def test_a_spoke_takes_everything_but_its_version_from_its_hub() -> None:
    """And the hub knows it."""
    hub = make_hub(
        plural="thingies",
        namespaced=False,
        singular="thingy",
        short_names=["th"],
        categories=["all"],
    )
    spoke = make_spoke(hub, deprecated="use v1")
    definition = spoke.DEFINITION

    assert hub.KIND._replace(version="v1beta1") == spoke.KIND
    assert (definition.singular, definition.short_names) == ("thingy", ("th",))
    assert definition.categories == ("all",)
    assert (definition.storage, definition.served, definition.hub) == (False, True, hub)
    assert hub.DEFINITION.versions == (spoke,)
    assert hub.DEFINITION.storage
    assert hub_of(spoke) is hub_of(hub) is hub


def test_a_spoke_may_be_the_storage_version() -> None:
    """During the first release of a new hub, so that the old program can still read everything."""
    hub = make_hub(storage=False)

    assert make_spoke(hub, storage=True).DEFINITION.storage


def test_a_class_that_is_defined_again_takes_the_place_of_the_first() -> None:
    """As when a module is loaded again."""
    hub = make_hub()
    make_spoke(hub)
    again = make_spoke(hub)

    assert hub.DEFINITION.versions == (again,)


def told(hub: Any, functions: type[Any] = Functions, **arguments: Any) -> str:
    """Return the message of the error."""
    with pytest.raises(DefinitionError) as caught:
        make_spoke(hub, functions, **arguments)
    return str(caught.value)


def test_converts_names_a_resource_class_of_ours() -> None:
    """Not any other value, and not a class for a kind of another project."""

    class Foreign(Resource[Spec, Status], of=kinds.INGRESS):
        pass

    assert told("WebApp") == (
        "Old has converts='WebApp', which is not a Resource class.\n"
        "  fix: name the class of the version that the controllers work with: converts=WebApp"
    )
    assert told(Foreign).startswith(
        "Old has converts=Foreign, but Ingress.networking.k8s.io is defined by another project"
    )
    with pytest.raises(DefinitionError, match=r"has both of=.* and converts"):

        class Both(Resource[Spec, Status], of=kinds.INGRESS, converts=make_hub()):
            pass


def test_a_spoke_is_not_a_hub() -> None:
    """A hub of a hub would convert twice, and a circle for ever."""
    assert told(make_spoke(make_hub()), version="v1alpha1") == (
        "Old has converts=Old, but Old itself converts to Hub: all versions of a kind convert to the same hub.\n"
        "  fix: write converts=Hub"
    )


def test_versions_differ_in_their_version_only() -> None:
    """Another group, kind, plural or scope is another kind."""
    assert told(make_hub(), kind="Other", namespaced=False) == (
        "Old has converts=Hub, but also kind='Other', namespaced=False, where Hub has kind='Thing', "
        "namespaced=True: versions of a kind differ in their version only.\n  fix: drop kind, namespaced"
    )
    assert make_spoke(make_hub(), kind="Thing", group="a.example.com").KIND.kind == "Thing"


def test_each_version_exists_once() -> None:
    """Neither the hub's nor that of another spoke."""
    hub = make_hub()

    class First(Functions, Resource[Spec, Status], version="v1beta1", converts=hub):
        pass

    assert "Old and Hub are both version 'v1'" in told(hub, version="v1")
    assert "Old and First are both version 'v1beta1'" in told(hub)


def test_one_version_is_stored() -> None:
    """Whichever it is."""
    assert told(make_hub(), storage=True) == (
        "Old has storage=True, but Hub (v1) is the storage version already; the server needs exactly one.\n"
        "  fix: drop storage=True, or write storage=False on Hub"
    )
    hub = make_hub(storage=False)

    class First(Functions, Resource[Spec, Status], version="v1beta2", converts=hub, storage=True):
        pass

    assert "Old and First are both the storage version" in told(hub, storage=True)


def test_versions_without_conversion_do_not_mix_with_those_that_convert() -> None:
    """The webhook would be asked for objects that it cannot convert."""

    class Plain(
        Resource[Spec, Status],
        group="a.example.com",
        version="v1alpha1",
        kind="Thing",
        storage=False,
    ):
        pass

    assert told(make_hub(versions=[Plain])) == (
        "Hub lists Plain in versions, but it has no conversion.\n"
        "  fix: write converts=Hub on Plain, with to_hub and from_hub"
    )
    assert "Old has both converts and versions" in told(make_hub(), versions=[Plain])


def test_both_functions_are_needed() -> None:
    """One of them alone would lose data on the way back."""

    class Nothing:
        pass

    class Wrong:
        @classmethod
        def to_hub(cls) -> Any:
            """A class method."""

        @classmethod
        def from_hub(cls, hub: Any) -> Any:
            """Right."""

    class AlsoWrong:
        def to_hub(self) -> Any:
            """Right."""

        def from_hub(self) -> Any:
            """Not a class method."""

    assert told(make_hub(), Nothing) == (
        "Old has converts=Hub, but does not define to_hub and from_hub.\n"
        "  fix: write def to_hub(self) -> Hub, and @classmethod def from_hub(cls, hub: Hub) -> Self"
    )
    assert "Old.to_hub is not a method of the object" in told(make_hub(), Wrong)
    assert "Old.from_hub is not a class method" in told(make_hub(), AlsoWrong)


def test_controllers_reconcile_hubs() -> None:
    """A spoke is refused; a kind without versions, or of another project, is not."""
    hub = make_hub()
    spoke = make_spoke(hub)

    check_is_hub("Things", hub)
    check_is_hub("Things", kinds.NAMESPACE)
    with pytest.raises(DefinitionError, match=r"fix: write Controller\[Hub\]"):
        check_is_hub("Things", spoke)


def test_type_checkers_accept_the_shape() -> None:
    """The functions are typed by their own classes, as in the documentation."""

    class App(Resource[Spec, Status], group="a.example.com", version="v1"):
        pass

    class OldApp(Resource[Spec, Status], version="v1beta1", converts=App):
        def to_hub(self) -> App:
            return App(name=self.name, spec=self.spec)

        @classmethod
        def from_hub(cls, hub: App) -> Self:
            return cls(name=hub.name, spec=hub.spec)

    made = OldApp.from_hub(App(name="a", spec=Spec(size=3)))
    assert made.to_hub().spec.size == 3

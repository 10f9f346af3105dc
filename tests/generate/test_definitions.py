"""CustomResourceDefinitions from class statements."""

import pytest

from myrmidon.api import Model, Resource, Scale, Status
from myrmidon.errors import DefinitionError
from myrmidon.generate import crd, crds
from tests.generate.webapp import WebApp, WebAppSpec


class Old(Model):
    """A spec of yesterday."""

    image: str


class WebAppBeta(
    Resource[Old, Status],
    group="demo.myrmidon.dev",
    version="v1beta1",
    kind="Site",
    storage=False,
    deprecated="use v1",
):
    """A site."""


class WebAppAlpha(
    Resource[Old, Status], group="demo.myrmidon.dev", version="v1alpha1", kind="Site", storage=False, served=False, deprecated=True
):  # fmt: skip
    """A site."""


class Site(
    Resource[WebAppSpec, Status], group="demo.myrmidon.dev", version="v1", versions=[WebAppAlpha, WebAppBeta]
):  # fmt: skip
    """A site."""


def test_everything_that_was_declared_is_in_the_definition() -> None:
    """Names, columns with the types of their fields, subresources, selectable fields."""
    made = crd(WebApp)
    version = made["spec"]["versions"][0]

    assert made["metadata"] == {"name": "webapps.demo.myrmidon.dev"}
    assert made["spec"]["scope"] == "Namespaced"
    assert made["spec"]["names"] == {
        "kind": "WebApp",
        "listKind": "WebAppList",
        "plural": "webapps",
        "singular": "webapp",
        "shortNames": ["wa"],
        "categories": ["demo"],
    }
    assert version["additionalPrinterColumns"] == [
        {"name": "Image", "type": "string", "jsonPath": ".spec.image"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='Ready')].status",
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    assert version["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }
    assert version["selectableFields"] == [{"jsonPath": ".spec.image"}]


def test_versions_come_newest_first_with_one_of_them_stored() -> None:
    """Deprecated ones name their replacement."""
    versions = crd(Site)["spec"]["versions"]

    assert [(each["name"], each["served"], each["storage"]) for each in versions] == [
        ("v1", True, True),
        ("v1beta1", True, False),
        ("v1alpha1", False, False),
    ]
    assert versions[1]["deprecationWarning"] == "use v1"
    assert versions[2]["deprecated"] is True
    assert "deprecationWarning" not in versions[2]


def test_several_resources_give_one_definition_for_each_kind() -> None:
    """A class of another version of the same kind adds nothing."""
    assert [each["metadata"]["name"] for each in crds([WebAppBeta, WebApp, Site])] == [
        "sites.demo.myrmidon.dev",
        "webapps.demo.myrmidon.dev",
    ]


def test_two_storage_versions_are_refused() -> None:
    """The server accepts only one."""

    class Two(
        Resource[WebAppSpec, Status], group="demo.myrmidon.dev", version="v2", kind="WebApp", versions=[WebApp]
    ):  # fmt: skip
        pass

    with pytest.raises(DefinitionError) as error:
        crd(Two)
    assert str(error.value) == (
        "WebApp.demo.myrmidon.dev has 2 storage versions among Two (v2), WebApp (v1); the server needs exactly one.\n"
        "  fix: write storage=False on all but one of them"
    )
    with pytest.raises(DefinitionError) as error:
        crds([WebAppBeta, WebAppAlpha])
    assert str(error.value).startswith("Site.demo.myrmidon.dev has 0 storage versions")


def test_two_classes_of_one_kind_are_refused() -> None:
    """It would be unclear which one is meant."""

    class Again(
        Resource[WebAppSpec, Status], group="demo.myrmidon.dev", version="v1", kind="WebApp"
    ):
        pass

    with pytest.raises(DefinitionError) as error:
        crds([WebApp, Again])
    assert str(error.value) == (
        "Again defines webapps.demo.myrmidon.dev, and so does another class that does not list it.\n"
        "  fix: list Again in `versions` of the class of the storage version, with storage=False"
    )


def test_paths_must_name_fields() -> None:
    """A column without a field is a typing error."""

    class Typo(
        Resource[WebAppSpec, Status], group="demo.myrmidon.dev", version="v1", columns={"Image": ".spec.imgae"}
    ):  # fmt: skip
        pass

    class Scaled(
        Resource[WebAppSpec, Status], group="demo.myrmidon.dev", version="v1", scale=Scale()
    ):
        pass

    with pytest.raises(DefinitionError) as error:
        crd(Typo)
    assert str(error.value) == (
        "Typo names '.spec.imgae' in columns['Image'], but that object has no field 'imgae'.\n"
        "  fix: use one of hosts, image, replicas, in the spelling of the wire"
    )
    with pytest.raises(DefinitionError, match=r"Scaled names '.status.replicas' in scale"):
        crd(Scaled)

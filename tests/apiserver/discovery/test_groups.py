"""The discovery and OpenAPI documents."""

from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files
from myrmidon.apiserver.discovery import groups, openapi, openapi_v2


@dataclass(frozen=True)
class Custom:
    """A custom resource."""

    kind: Kind
    singular: str = "widget"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = True
    scale: Any = None
    storage_version: str = ""
    list_kind: str = ""
    openapi: Json = field(default_factory=dict)


def widget(version: str = "v1") -> Custom:
    """A version of a custom resource."""
    return Custom(
        Kind("example.com", version, "Widget", "widgets"),
        openapi={"type": "object", "properties": {"spec": {"type": "object"}}},
    )


def test_versions_come_in_the_order_of_preference() -> None:
    """The first one is what kubectl uses, whatever the storage version is."""
    versions = ["foo1", "v1alpha1", "v3beta1", "v10beta3", "v1", "v2"]
    custom = [widget(version) for version in versions]
    group = groups.group("example.com", custom)
    assert group is not None
    listed = [version["version"] for version in group["versions"]]
    assert listed == ["v2", "v1", "v10beta3", "v3beta1", "v1alpha1", "foo1"]
    assert group["preferredVersion"]["version"] == "v2"


def test_both_forms_have_the_same_resources() -> None:
    """Every resource of one form is in the other."""
    custom = [widget()]
    for core in (True, False):
        for item in groups.aggregated(core=core, custom=custom)["items"]:
            name = item["metadata"].get("name", "")
            for version in item["versions"]:
                older = groups.resource_list(name, version["version"], custom)
                assert older is not None
                names = {entry["name"] for entry in older["resources"] if "/" not in entry["name"]}
                assert names == {resource["resource"] for resource in version["resources"]}


def test_an_unknown_group_or_version_is_none() -> None:
    """The caller decides how to report it."""
    assert groups.group("nope.example.com", []) is None
    assert groups.resource_list("apps", "v9", []) is None
    assert openapi.document("apis/nope/v1", []) is None
    assert openapi.document("apis/apps", []) is None


def test_every_document_is_complete() -> None:
    """Every reference of a schema is resolved in the same document."""
    custom = [widget()]
    for name in openapi.index(custom)["paths"]:
        document = openapi.document(name, custom)
        assert document is not None
        schemas = document["components"]["schemas"]
        assert set(openapi._references(document)) <= set(schemas), name


def test_a_changed_definition_has_another_hash() -> None:
    """Clients cache documents by their hash."""
    before = openapi.index([widget()])["paths"]
    after = openapi.index([Custom(widget().kind, openapi={"type": "object"})])["paths"]
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["apis/example.com/v1"]


def test_version_2_has_all_types_in_its_own_words() -> None:
    """No reference leads into version 3."""
    document = openapi_v2.swagger([widget()])
    assert "com.example.v1.Widget" in document["definitions"]
    assert len(document["definitions"]) > len(files.definitions()["schemas"])
    assert "#/components" not in str(document)

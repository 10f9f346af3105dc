"""The CustomResourceDefinition of a kind with several versions."""

from myrmidon.generate.schema.definitions import crd, crds
from tests.versions.apps import App, AppV1Beta1


def test_all_versions_are_in_one_definition() -> None:
    """With a schema each; the hub is stored, both are served, and a webhook converts."""
    spec = crd(App)["spec"]

    versions = {one["name"]: one for one in spec["versions"]}
    assert list(versions) == ["v1", "v1beta1"]
    assert [(one["served"], one["storage"]) for one in versions.values()] == [
        (True, True), (True, False),
    ]  # fmt: skip
    schemas = {
        name: one["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        for name, one in versions.items()
    }
    assert "owner" in schemas["v1"]
    assert "portNumbers" in schemas["v1beta1"]
    assert spec["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {
                    "namespace": "default",
                    "name": "webhooks",
                    "path": "/convert",
                    "port": 443,
                }
            },
        },
    }


def test_any_version_stands_for_its_kind() -> None:
    """A program may name the spoke, the hub or both; the address of the webhook can be given."""
    client = {"url": "https://localhost:9443/convert"}

    assert crds([AppV1Beta1]) == crds([App, AppV1Beta1]) == [crd(App)]
    made = crd(AppV1Beta1, client=client)
    assert made["spec"]["conversion"]["webhook"]["clientConfig"] == client

"""Faults of conversion, as a controller and its users see them: one bad object, no webhook, an old replica."""

from collections.abc import Callable
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.errors import ApiError, ServerError
from myrmidon.testing import Harness
from myrmidon.webhooks.versions import Converter
from tests.testing.harness.test_versions import Apps
from tests.versions.apps import GROUP, App, AppV1Beta1, hub, spoke

NAME = f"apps.{GROUP}"


def answering(cluster: Harness, review: Callable[[Any], Any]) -> None:
    """Let another function answer conversion reviews from now on."""
    cluster.server.convert_with(NAME, review)


def down(_asked: Any) -> Any:
    """Fail as a webhook that cannot be reached: the API server gets no review back."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}


@pytest.mark.law("V2")
def test_one_object_that_cannot_be_converted_harms_no_other() -> None:
    """All are reconciled, listed in both versions, and the bad one can be corrected and deleted."""
    with Harness(Apps()) as cluster:
        for name, image in (("a", "shop:1"), ("bad", "unconvertible"), ("c", "shop:1")):
            cluster.apply(hub(name, image=image))
        cluster.settle()

        assert all(cluster.ready(App, name) for name in ("a", "bad", "c"))
        shown = {one["metadata"]["name"]: one for one in cluster.list(AppV1Beta1.KIND)}
        assert shown["a"]["spec"] == spoke("a")["spec"]
        assert shown["bad"]["spec"] == {}
        assert "cannot be converted" in str(shown["bad"]["metadata"]["annotations"])
        cluster.patch(AppV1Beta1, "a", {"spec": {"size": 4}})
        cluster.settle()
        assert cluster.require(App, "a").spec.replicas == 4

        cluster.patch(App, "bad", {"spec": {"image": "shop:2"}})
        assert cluster.require(AppV1Beta1, "bad").spec.image == "shop:2"
        cluster.patch(App, "bad", {"spec": {"image": "unconvertible"}})
        cluster.delete(AppV1Beta1.KIND, "bad")
        cluster.settle()
        assert cluster.get(App, "bad") is None


@pytest.mark.law("V2")
def test_without_a_webhook_the_stored_version_works() -> None:
    """Requests in another version fail, and succeed again when the webhook is back."""
    with Harness(Apps()) as cluster:
        cluster.apply(hub("a", replicas=2))
        cluster.settle()
        answering(cluster, down)
        with pytest.raises(ServerError, match="conversion webhook"):
            cluster.apply(spoke("b"))
        with pytest.raises(ApiError, match="conversion webhook"):
            cluster.patch(AppV1Beta1, "a", {"spec": {"size": 5}})

        cluster.patch(App, "a", {"spec": {"replicas": 3}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "a")["data"]["replicas"] == "3"

        answering(cluster, Converter([App]).review)
        cluster.patch(AppV1Beta1, "a", {"spec": {"size": 5}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "a")["data"]["replicas"] == "5"


@pytest.mark.law("V1")
def test_an_old_replica_keeps_fields_that_it_does_not_know() -> None:
    """During a rollout the definition is already new; a conversion by old code must not drop its fields."""
    converter = Converter([App])
    newer = hub("a")
    newer["spec"]["addedLater"] = {"deep": [1, 2]}

    shown = converter.convert(newer, f"{GROUP}/v1beta1")
    shown["spec"]["size"] = 9
    back = converter.convert(shown, f"{GROUP}/v1")

    assert back["spec"]["addedLater"] == {"deep": [1, 2]}
    assert back["spec"]["replicas"] == 9

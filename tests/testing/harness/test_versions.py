"""Controllers of kinds with several versions, on the embedded server and in virtual time."""

from typing import Any

import pytest

from myrmidon import Controller, Done, OutputSet, Result, kinds, state
from myrmidon.errors import DefinitionError
from myrmidon.runtime import Manager
from myrmidon.testing import Harness
from tests.versions.apps import GROUP, App, AppV1Beta1, hub, spoke


class Apps(Controller[App]):
    """Writes a ConfigMap for each application."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Configured")
    def configured(self, app: App, out: OutputSet) -> Result:
        """The ConfigMap has the number of replicas."""
        metadata = {"name": app.name, "namespace": app.namespace}
        data = {"replicas": str(app.spec.replicas), "owner": app.spec.owner or ""}
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        app.status.url = f"http://{app.name}"
        return Done()


def data_of(cluster: Harness) -> Any:
    """Return the data of the ConfigMap."""
    found = cluster.get(kinds.CONFIG_MAP, "one")
    assert found is not None
    return found["data"]


def test_a_controller_sees_the_hub_whatever_version_was_written() -> None:
    """Its status is shown in both versions."""
    with Harness(Apps()) as cluster:
        cluster.apply(spoke(size=3, note="mine"))
        cluster.settle()

        assert data_of(cluster)["replicas"] == "3"
        old = cluster.get(AppV1Beta1, "one")
        assert old is not None
        assert (old.status.url, old.spec.note, old.spec.size) == ("http://one", "mine", 3)
        cluster.patch(AppV1Beta1, "one", {"spec": {"size": 5}})
        cluster.settle()
        assert data_of(cluster)["replicas"] == "5"
        new = cluster.get(App, "one")
        assert new is not None
        assert new.spec.replicas == 5


def test_a_converged_object_causes_no_writes() -> None:
    """Also if it was written in the other version."""
    with Harness(Apps()) as cluster:
        cluster.apply(hub(owner="me", replicas=2))
        cluster.settle()
        cluster.patch(AppV1Beta1, "one", {"spec": {"size": 4}})
        cluster.settle()
        assert data_of(cluster) == {"replicas": "4", "owner": "me"}
        before = len(cluster.writes)
        cluster.restart()
        cluster.settle()
        assert len(cluster.writes) == before


def test_a_controller_of_a_spoke_is_refused() -> None:
    """There is one desired state, and the hub has all of it."""
    with pytest.raises(DefinitionError) as caught:

        class Old(Controller[AppV1Beta1]):
            @state(initial=True, condition="Done")
            def done(self, app: AppV1Beta1, out: OutputSet) -> Result:
                return Done()

    assert str(caught.value) == (
        "Old reconciles AppV1Beta1, which converts to App.\n"
        "  fix: write Controller[App]; objects that users write as v1beta1 reach it as v1"
    )


def test_the_manager_answers_conversion_reviews() -> None:
    """At /convert, where the definition says; what fails is counted."""
    with Harness(Apps()) as cluster:
        cluster.settle()
        asked = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "ConversionReview",
            "request": {
                "uid": "u",
                "desiredAPIVersion": f"{GROUP}/v1beta1",
                "objects": [hub("a"), hub("bad", image="unconvertible")],
            },
        }
        status, answer = cluster._wait(_asked(cluster.manager, asked))
        assert status == 200
        assert answer["response"]["uid"] == "u"
        assert answer["response"]["convertedObjects"][0] == spoke("a")
        assert answer["response"]["result"] == {"status": "Success"}
        counted = cluster.manager.metrics.webhooks.conversion_panics.labels()
        assert counted.count == 1


async def _asked(manager: Manager, review: Any) -> Any:
    assert manager.webhooks is not None
    return await manager.webhooks.dispatch.answer("/convert", review)

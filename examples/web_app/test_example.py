"""Tests of WebApps, from the first pass to the deletion, as a user of myrmidon would write them."""

from pathlib import Path

import pytest

from examples.web_app.controller import (
    InMemoryRegistry,
    WebApp,
    WebApps,
    WebAppSpec,
    WebAppV1Beta1,
)
from myrmidon import kinds
from myrmidon.errors import InvalidError
from myrmidon.testing import Cluster, Harness, check_conversions
from myrmidon.testing.pytest_plugin import MakeCluster

SAMPLE = Path(__file__).parent / "sample.yaml"


def test_the_sample_becomes_ready(harness: MakeCluster) -> None:
    """Both branches are taken: one application has a host, the other has none."""
    cluster = harness(WebApps())
    cluster.apply_file(SAMPLE)
    cluster.settle()

    assert cluster.ready(WebApp, "shop")
    assert cluster.ready(WebApp, "backoffice")
    assert cluster.require(WebApp, "shop").status.url == "http://shop.example.com"
    assert cluster.condition(WebApp, "backoffice", "Hidden") is not None
    cluster.at_rest()


def test_versions_convert_without_loss() -> None:
    """v1beta1 has one host; the others are kept in an annotation."""
    check_conversions(WebApp, lost=["spec.hosts"], max_examples=20)


def test_an_application_may_be_written_as_v1beta1() -> None:
    """The controller sees v1; an edit as v1beta1 keeps the hosts that only v1 has."""
    hosts = ["shop.example.com", "www.example.com"]
    with Harness(WebApps()) as cluster:
        cluster.apply(app(hosts=hosts))
        cluster.settle()
        cluster.patch(WebAppV1Beta1, "shop", {"spec": {"size": 2}})
        cluster.settle()

        assert cluster.require(kinds.DEPLOYMENT, "shop")["spec"]["replicas"] == 2
        assert cluster.require(WebApp, "shop").spec.hosts == hosts
        assert cluster.require(WebAppV1Beta1, "shop").status.url == "http://shop.example.com"


def test_it_is_deployed_when_all_replicas_run(harness: MakeCluster) -> None:
    """Until then the condition Deployed says what it waits for.

    The test looks at what was written: on a live cluster the wait may be over before it looks.
    """
    cluster = harness(WebApps())
    cluster.apply(app(replicas=2))
    cluster.settle()

    assert deployed(cluster) == [("False", "RollingOut"), ("True", "Done")]
    assert cluster.ready(WebApp, "shop")


def test_taking_its_hosts_away_hides_it(harness: MakeCluster) -> None:
    """Without hosts the Ingress, the url and the entry in the registry are removed."""
    registry = InMemoryRegistry()
    cluster = harness(WebApps(registry))
    cluster.apply(app(hosts=["shop.example.com"]))
    cluster.settle()
    assert list(registry.urls.values()) == ["http://shop.example.com"]

    cluster.patch(WebApp, "shop", {"spec": {"hosts": [], "replicas": 3}})
    cluster.settle()
    assert cluster.get(kinds.INGRESS, "shop") is None
    assert cluster.require(WebApp, "shop").status.url is None
    assert cluster.require(kinds.DEPLOYMENT, "shop")["spec"]["replicas"] == 3
    assert registry.urls == {}


def test_a_host_belongs_to_one_application() -> None:
    """The validator reads the other applications; the Harness calls it in the process."""
    with Harness(WebApps()) as cluster:
        cluster.apply(app(hosts=["shop.example.com"]))
        cluster.settle()
        second = WebAppSpec(image="second:1", hosts=["shop.example.com"])
        with pytest.raises(InvalidError, match=r"spec\.hosts\[0\]: .*is a host of default/shop"):
            cluster.apply(WebApp(name="second", spec=second))

        cluster.patch(WebApp, "shop", {"spec": {"replicas": 2}})
        cluster.settle()
        assert cluster.ready(WebApp, "shop")


def test_its_finalizer_waits_for_the_registry(harness: MakeCluster) -> None:
    """The finalizer keeps the deleted object until the registry has withdrawn its address."""
    registry = InMemoryRegistry()
    cluster = harness(WebApps(registry))
    cluster.apply(app(hosts=["shop.example.com"]))
    cluster.settle()

    cluster.delete(WebApp, "shop")
    held = cluster.eventually(lambda: cluster.condition(WebApp, "shop", "Deregistered"))
    assert held is not None
    assert (held.status, held.reason) == ("False", "Draining")
    cluster.settle()
    assert cluster.get(WebApp, "shop") is None
    assert registry.urls == {}


def test_it_costs_one_write_per_child(harness: MakeCluster) -> None:
    """The writes are the finalizer, four children, and the status of each of the two passes."""
    cluster = harness(WebApps())
    cluster.apply(app(hosts=["shop.example.com"]))
    cluster.settle()

    assert len(cluster.writes) == 7, cluster.writes


def deployed(cluster: Cluster) -> list[tuple[str, str]]:
    """Return every status and reason that the condition Deployed has had, in order."""
    statuses = [each.answer["status"] for each in cluster.writes if each.path.endswith("/status")]
    conditions = [one for status in statuses for one in status["conditions"]]
    seen = [(one["status"], one["reason"]) for one in conditions if one["type"] == "Deployed"]
    return [one for number, one in enumerate(seen) if number == 0 or seen[number - 1] != one]


def app(**spec: object) -> WebApp:
    """Build a web application with an image."""
    return WebApp(name="shop", spec=WebAppSpec.from_wire({"image": "shop:1", **spec}))

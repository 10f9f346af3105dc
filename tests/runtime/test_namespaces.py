"""A controller that looks at some namespaces only."""

from myrmidon.api.objects import kinds
from myrmidon.runtime import ManagerOptions
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, thing
from tests.runtime.webapps import WebApp, WebApps, cluster_role, web_app


def test_a_child_without_a_namespace_may_belong_to_somebody_elses_parent() -> None:
    """Its parent lives where we do not look: no pass, and above all no crash."""
    role = cluster_role("other-shop")
    role["metadata"]["annotations"] = {
        "myrmidon.dev/parent": "webapps.test.myrmidon.dev/other/shop"
    }
    options = ManagerOptions(seed=0, namespaces=("default",))
    with Harness(WebApps(), options=options, manifests=[role]) as cluster:
        cluster.apply(web_app())
        cluster.settle()
        ready = cluster.require(WebApp, "shop").raw["status"]["conditions"][-1]
        assert (ready["type"], ready["status"]) == ("Ready", "True")
        assert (
            cluster.require(kinds.CLUSTER_ROLE, "other-shop")["metadata"]["annotations"]
            == (role["metadata"]["annotations"])
        )


def test_options_of_the_instance_limit_the_namespaces_too() -> None:
    """Options may be set on the instance; an object in another namespace is then left alone."""
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    with Harness(Things(namespaces=("default",)), manifests=[other]) as cluster:
        far = thing("far").to_json()
        far["metadata"]["namespace"] = "other"
        cluster.apply(far)
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert "status" not in cluster.require(Thing, "far", "other").raw

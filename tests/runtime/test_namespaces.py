"""A controller that is limited to some namespaces."""

from myrmidon.api.objects import kinds
from myrmidon.runtime import ManagerOptions
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, thing
from tests.runtime.webapps import WebApp, WebApps, cluster_role, web_app


def test_a_cluster_scoped_child_may_belong_to_a_parent_in_another_namespace() -> None:
    """The parent is in a namespace that is not handled here: no pass, and no crash."""
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

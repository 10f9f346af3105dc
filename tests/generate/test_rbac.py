"""Generated roles: exactly the rights that are needed."""

from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, ControllerOptions, Done, Manages, Reads, Result, Watch, state
from myrmidon.fsm.declaration.permissions import Permission
from myrmidon.generate import lease_role, roles
from myrmidon.sets.outputs.output_set import OutputSet
from tests.generate.spaces import SpacesInAnnotation, SpacesInStatus, SpacesWithout
from tests.generate.usages import Editing, Plain, Tracking
from tests.generate.webapp import Watchers, WebApp, WebApps

ALL = ["get", "list", "watch", "create", "update", "patch", "delete"]


def rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    """Build one rule."""
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


class Base(Controller[WebApp], abstract=True):
    """One state."""

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        return Done()


def test_a_controller_gets_what_it_declares() -> None:
    """A finalizer needs a patch of the object; outputs that cannot be analysed need all verbs."""
    (role,) = roles([WebApps], "web-apps")

    assert (role["kind"], role["metadata"]) == ("ClusterRole", {"name": "web-apps"})
    assert role["rules"] == [
        rule("", "events", "get", "create", "patch"),
        {"apiGroups": [""], "resources": ["nodes", "secrets"], "verbs": ["get", "list", "watch"]},
        rule("", "services", *ALL),
        rule("", "services/status", "patch"),
        rule("apps", "deployments", *ALL),
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale", "deployments/status"],
            "verbs": ["patch"],
        },
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch", "patch", "delete"),
        rule("demo.myrmidon.dev", "webapps/finalizers", "update"),
        rule("demo.myrmidon.dev", "webapps/status", "patch"),
    ]


def test_verbs_follow_from_what_the_code_does() -> None:
    """Without full updates no update, without deletes no delete, for cached kinds no get."""
    (role,) = roles([Plain], "plain")

    assert role["rules"] == [
        rule("", "configmaps", "get", "list", "watch", "create", "patch"),
        rule("", "events", "get", "create", "patch"),
        rule("", "nodes", "list", "watch"),
        rule("", "secrets", "get", "list", "watch", "create", "patch", "delete"),
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch"),
        rule("demo.myrmidon.dev", "webapps/finalizers", "update"),
        rule("demo.myrmidon.dev", "webapps/status", "patch"),
    ]


def test_subresources_and_patches_need_their_own_rights() -> None:
    """A controller that creates nothing needs no create; one that labels itself needs a patch."""
    (role,) = roles([Editing], "editing")

    assert role["rules"][:-1] == [
        rule("", "configmaps", "get", "list", "watch", "patch", "delete"),
        rule("", "events", "get", "create", "patch"),
        rule("apps", "deployments", "get", "list", "watch", "patch"),
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale", "deployments/status"],
            "verbs": ["patch"],
        },
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch", "patch", "delete"),
    ]


def test_children_without_owner_need_a_finalizer_on_their_parent() -> None:
    """Although the graph has none; they need no right to block deletion."""
    (role,) = roles([Tracking], "tracking")

    assert role["rules"][2:] == [
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch", "patch"),
        rule("demo.myrmidon.dev", "webapps/status", "patch"),
    ]


def test_a_controller_of_some_namespaces_gets_roles_there() -> None:
    """Without a finalizer no right to patch the object.

    Without owned children none on finalizers.
    """
    made = roles([Watchers], "watchers")

    assert [(role["kind"], role["metadata"]["namespace"]) for role in made] == [
        ("Role", "one"),
        ("Role", "two"),
    ]
    assert made[0]["rules"] == made[1]["rules"]
    assert made[0]["rules"] == [
        rule("", "events", "get", "create", "patch"),
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch"),
        rule("demo.myrmidon.dev", "webapps/status", "patch"),
    ]


def test_rights_that_hold_everywhere_are_not_given_again() -> None:
    """Two controllers in one program share an account."""
    made = roles([WebApps, Watchers], "both")

    assert [role["kind"] for role in made] == ["ClusterRole"]


def test_kinds_without_a_namespace_need_a_cluster_role() -> None:
    """Also if the controller is limited to namespaces."""

    class Limited(Base):
        manages = (kinds.NAMESPACE, kinds.CONFIG_MAP)
        options = ControllerOptions(namespaces=("one",), create_if_not_found=True)
        watches = (
            Watch(kinds.SECRET, to=lambda _: (), namespaces=("other",)),
            Watch(kinds.POD, to=lambda _: (), remote="elsewhere"),
        )

    cluster, one, other = roles([Limited], "limited")

    assert cluster["rules"] == [
        rule("", "namespaces", *ALL),
        rule("", "namespaces/status", "patch"),
    ]
    assert one["rules"] == [
        rule("", "configmaps", *ALL),
        rule("", "events", "get", "create", "patch"),
        rule("demo.myrmidon.dev", "webapps", "get", "list", "watch", "create", "patch", "delete"),
        rule("demo.myrmidon.dev", "webapps/finalizers", "update"),
        rule("demo.myrmidon.dev", "webapps/status", "patch"),
    ]
    assert (other["metadata"]["namespace"], other["rules"]) == (
        "other",
        [rule("", "secrets", "get", "list", "watch")],
    )


def test_rights_follow_the_shapes_of_kinds() -> None:
    """Only get for a kind that is not cached, and a Role where namespaces are given."""

    class Shaped(Base):
        """Caches less than everything."""

        manages = (Manages(kinds.CONFIG_MAP, namespaces=("there",)),)
        reads = (
            Reads(kinds.SECRET, cached=False),
            Reads(kinds.POD, namespaces=("here",), metadata_only=True),
            Reads(kinds.NODE, selector="a=b", wakes=False),
        )
        watches = (Watch(kinds.SERVICE, to=lambda _: [], namespaces=("here", "there")),)

    everywhere, here, there = roles([Shaped], "shaped")

    assert rule("", "secrets", "get") in everywhere["rules"]
    assert rule("", "nodes", "get", "list", "watch") in everywhere["rules"]
    assert [here["metadata"]["namespace"], there["metadata"]["namespace"]] == ["here", "there"]
    assert here["rules"] == [
        {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}
    ]
    assert there["rules"] == [
        rule("", "configmaps", *ALL),
        rule("", "services", "get", "list", "watch"),
    ]


def test_leading_is_limited_to_one_lease() -> None:
    """A create cannot be limited to a name; the rest is."""
    made = lease_role("web-apps", "system", "web-apps")

    assert made["metadata"] == {"name": "web-apps-leader-election", "namespace": "system"}
    assert made["rules"] == [
        rule("coordination.k8s.io", "leases", "create"),
        {**rule("coordination.k8s.io", "leases", "get", "update"), "resourceNames": ["web-apps"]},
    ]


def test_permissions_are_part_of_the_role() -> None:
    """With verbs that only RBAC knows, and limited to names."""

    class Bound(WebApps):
        name = "bound"
        permissions = (
            Permission(kinds.CLUSTER_ROLE, "bind", names=("edit", "view")),
            Permission(kinds.POD, ("list", "get"), subresource="log"),
        )

    (role,) = roles([Bound], "bound")
    assert {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": ["edit", "view"],
        "verbs": ["bind"],
    } in role["rules"]
    assert {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get", "list"]} in role["rules"]


@pytest.mark.parametrize(
    ("controller", "on_status", "on_object"),
    [
        (SpacesInStatus, True, False),
        (SpacesInAnnotation, False, True),
        (SpacesWithout, False, False),
    ],
)
def test_the_right_to_write_conditions_follows_where_they_are(
    controller: type[Controller[Any]], on_status: bool, on_object: bool
) -> None:
    """In the status, in an annotation, or nowhere."""
    (role,) = roles([controller], "spaces")
    patched = [
        one for rule in role["rules"] if "patch" in rule["verbs"] for one in rule["resources"]
    ]
    assert ("namespaces/status" in patched, "namespaces" in patched) == (on_status, on_object)


def test_replicas_that_share_the_objects_may_use_all_leases_of_their_namespace() -> None:
    """The names of member Leases are not known beforehand."""
    leases, events = lease_role("web-apps", "system", "web-apps", shards=True)["rules"]

    assert leases["verbs"] == ["get", "list", "watch", "create", "update", "delete"]
    assert "resourceNames" not in leases
    assert events["resources"] == ["events"]

"""Adoption by selector: which objects are adopted, which are released, which are left alone."""

from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import adopt_by_selector
from myrmidon.sets import Apply, OutputSet, Release
from tests.fsm.things import Thing

OWNER = {"kind": "Thing", "name": "a", "uid": "u", "controller": True}
OTHER = {**OWNER, "uid": "other"}


def thing() -> Thing:
    """The parent."""
    return Thing.from_json(
        {"metadata": {"name": "a", "namespace": "default", "uid": "u"}, "spec": {"size": 1}}
    )


def pod(name: str, colour: str, **meta: Any) -> Json:
    """Build a Pod that could match the selector."""
    labels = {"colour": colour}
    named = {"name": name, "namespace": "default", "resourceVersion": "5", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**named, **meta}}


def test_o6_what_matches_is_adopted_and_what_stops_matching_is_released() -> None:
    """Objects of others, and objects that are being deleted, are left alone."""
    out = OutputSet((kinds.POD, kinds.NAMESPACE), namespace="default")
    objects = [
        pod("loose", "red"),
        pod("ours", "red", ownerReferences=[OWNER]),
        pod("left", "blue", ownerReferences=[OWNER]),
        pod("strange", "blue"),
        pod("theirs", "red", ownerReferences=[OTHER]),
        pod("tracked", "red", labels={"colour": "red", "myrmidon.dev/parent-uid": "other"}),
        pod("going", "red", deletionTimestamp="now"),
    ]
    matching = adopt_by_selector(thing(), objects, {"colour": "red"}, out)

    assert [one["metadata"]["name"] for one in matching] == ["loose", "ours"]
    applied = out.applied()
    assert [output.ref.name for output in applied] == ["loose", "ours"]
    assert all(output.options.adopt and output.options.optimistic_lock for output in applied)
    assert applied[0].manifest["metadata"]["resourceVersion"] == "5", "never created again"
    assert [one.ref.name for one in out if isinstance(one, Release)] == ["left"]


def test_cluster_scoped_objects_have_no_namespace() -> None:
    """A cluster-scoped object is adopted by an apply that has its name and no namespace."""
    out = OutputSet((kinds.NAMESPACE,))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    adopt_by_selector(thing(), [space], "", out)
    (output,) = out

    assert isinstance(output, Apply)
    assert output.manifest["metadata"] == {"name": "n", "resourceVersion": ""}

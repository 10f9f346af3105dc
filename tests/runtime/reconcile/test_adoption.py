"""O6, O7 on the embedded server: objects that exist before the parent names them."""

from datetime import timedelta
from typing import Any

import pytest

from examples.config_copy.controller import ConfigCopies, ConfigCopy, ConfigCopySpec
from myrmidon.api.objects import kinds
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import (
    WAYS,
    Act,
    FinalThings,
    Thing,
    Things,
    applying,
    config_map,
    events,
    first,
    thing,
)

MAP = kinds.CONFIG_MAP
HOUR = timedelta(hours=1)


def deleting(**options: Any) -> Act:
    """A state that deletes that ConfigMap."""

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.delete(MAP, "child", **options)
        return Done()

    return act


@pytest.mark.parametrize("way", WAYS)
def test_o6_an_object_without_parent_is_left_alone_and_survives_the_parent(way: str) -> None:
    """It is neither changed nor deleted, and the condition says what to do."""
    with Harness(FinalThings(applying(**WAYS[way]), prune=True)) as cluster:
        cluster.apply(config_map("child", "theirs"))
        before = cluster.get(MAP, "child")
        cluster.apply(thing())
        cluster.advance(HOUR)

        assert first(cluster).reason == "AdoptionRefused"
        assert "myrmidon.dev/adopt=true" in first(cluster).message
        assert not cluster.ready(Thing, "it")
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(MAP, "child") == before


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"create-only"}))
def test_o6_a_requested_adoption_happens_and_is_recorded(way: str) -> None:
    """The object is changed, deleted with the parent, and an Event records the adoption."""
    with Harness(FinalThings(applying(**WAYS[way], adopt=True))) as cluster:
        cluster.apply(config_map("child", "theirs"))
        cluster.apply(thing())
        cluster.settle()

        assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"value": "a"}
        assert events(cluster, "Adopted") == [
            "ConfigMap default/child existed before and is managed from now on"
        ]
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(MAP, "child") is None


def test_o6_create_only_with_adoption_leaves_the_object_as_it_is() -> None:
    """It only has to exist; an object that we did not create is not deleted with the parent."""
    with Harness(FinalThings(applying(create_only=True, adopt=True), prune=True)) as cluster:
        cluster.apply(config_map("child", "theirs"))
        before = cluster.get(MAP, "child")
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert events(cluster, "Adopted") == []
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(MAP, "child") == before


def test_o6_the_annotation_on_the_object_allows_its_adoption() -> None:
    """The next attempt succeeds."""
    with Harness(Things(applying())) as cluster:
        cluster.apply(config_map("child", "theirs"))
        cluster.apply(thing())
        cluster.advance(timedelta(minutes=1))
        assert first(cluster).reason == "AdoptionRefused"
        notes = {"myrmidon.dev/adopt": "default/it"}
        cluster.patch(MAP, "child", {"metadata": {"annotations": notes}})
        cluster.advance(timedelta(minutes=6))
        assert cluster.ready(Thing, "it")
        assert len(events(cluster, "Adopted")) == 1


def test_o6_a_delete_of_an_object_without_parent_must_be_asked_for() -> None:
    """Naming an object in ``out.delete`` does not make it ours."""
    with Harness(Things(deleting())) as cluster:
        cluster.apply(config_map("child", "theirs"))
        cluster.apply(thing())
        cluster.advance(HOUR)
        assert first(cluster).reason == "AdoptionRefused"
        assert "out.delete(..., adopt=True)" in first(cluster).message
        assert cluster.get(MAP, "child") is not None

    with Harness(Things(deleting(adopt=True))) as cluster:
        cluster.apply(config_map("child", "theirs"))
        cluster.apply(thing())
        cluster.settle()
        assert cluster.get(MAP, "child") is None
        assert cluster.ready(Thing, "it")


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_child_that_lost_its_owner_is_still_ours_after_a_restart(way: str) -> None:
    """The server's managedFields record who created it."""
    with Harness(Things(applying(**WAYS[way]))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.crash()
        labels = {"myrmidon.dev/parent-uid": None}
        cluster.patch(MAP, "child", {"metadata": {"ownerReferences": None, "labels": labels}})
        cluster.restart()
        cluster.settle()

        assert cluster.ready(Thing, "it")
        assert events(cluster, "Adopted") == []
        child = cluster.require(MAP, "child")["metadata"]
        if way != "create-only":
            assert child.get("ownerReferences") or child.get("labels")
        cluster.at_rest()


def test_o7_two_parents_that_name_one_target_do_not_overwrite_each_other() -> None:
    """The second is refused with the name of the first, and there are no alternating writes."""
    with Harness(ConfigCopies()) as cluster:
        spec = ConfigCopySpec(namespaces=[cluster.add_namespace("target")])
        cluster.add_namespace("second")
        for home in ("default", "second"):
            source = config_map("settings", home, namespace=home)
            cluster.apply(source)
            cluster.apply(ConfigCopy(name="settings", namespace=home, spec=spec))
            cluster.advance(timedelta(minutes=10))

        assert cluster.ready(ConfigCopy, "settings")
        (refused, _) = cluster.require(ConfigCopy, "settings", "second").status.conditions
        assert (refused["status"], refused["reason"]) == ("False", "AlreadyOwned")
        assert "configcopies.demo.myrmidon.dev/default/settings" in refused["message"]
        assert cluster.require(MAP, "settings", "target")["data"] == {"value": "default"}
        assert cluster.writes_during(HOUR) == []

        cluster.delete(ConfigCopy, "settings", "second")
        cluster.settle()
        assert cluster.get(ConfigCopy, "settings", "second") is None
        assert cluster.require(MAP, "settings", "target")["data"] == {"value": "default"}

        cluster.delete(ConfigCopy, "settings")
        cluster.settle()
        assert cluster.get(MAP, "settings", "target") is None


def test_o7_a_parent_that_was_restored_finds_its_children_by_name() -> None:
    """Its uid differs from their labels, but no other object can have its name."""
    with Harness(Things(applying(owner_refs=False))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.crash()
        labels = {"myrmidon.dev/parent-uid": "of-the-backup"}
        cluster.patch(MAP, "child", {"metadata": {"labels": labels}})
        cluster.restart()
        cluster.settle()

        assert cluster.ready(Thing, "it")
        uid = cluster.require(Thing, "it").uid
        labels = cluster.require(MAP, "child")["metadata"]["labels"]
        assert labels == {"myrmidon.dev/parent-uid": uid}

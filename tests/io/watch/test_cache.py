"""What a cache returns, keeps and forgets."""

from typing import Any

import orjson
import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.kinds import CONFIG_MAP, NAMESPACE, POD
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import UsageError
from myrmidon.io.lists.events import Listing, WatchEvent
from myrmidon.io.lists.scope import Scope
from myrmidon.io.watch.cache import Cache
from myrmidon.io.watch.changes import Source, encode
from myrmidon.io.watch.indexes import by_label, by_owner
from tests.io.model_server import config_map

REF = ObjectRef(CONFIG_MAP, "a", "ns")


def loaded(*objects: Json, version: int = 10, **options: Any) -> Cache:
    """Return a cache after its first list."""
    cache = Cache(options.pop("scope", CONFIG_MAP), **options)
    cache.load(Listing(list(objects), str(version), begins=True, completes=True))
    return cache


def labelled(name: str, labels: dict[str, str], version: int = 5, owner: str = "") -> Json:
    """Build a ConfigMap with labels and an owner."""
    obj = config_map(name, f"{name}-uid", version)
    obj["metadata"]["labels"] = labels
    if owner:
        obj["metadata"]["ownerReferences"] = [{"uid": owner, "kind": "Widget", "name": "w"}]
    return obj


def test_every_reader_has_a_copy() -> None:
    """K5: changing it does not change the copies of others."""
    cache = loaded(config_map("a", "u", 5))
    mine = cache.get("a", "ns")
    assert mine is not None
    mine["data"]["text"] = "scribble"
    theirs = cache.get("a", "ns")
    assert theirs is not None
    assert theirs["data"]["text"] != "scribble"


def test_each_read_of_a_change_decodes_its_own_copy() -> None:
    """K5 for subscribers."""
    cache = Cache(CONFIG_MAP)
    change = cache.apply(WatchEvent("ADDED", config_map("a", "u", 5)))
    assert change is not None
    assert change.after == change.after
    assert change.after is not change.after
    assert change.before is None


def test_managed_fields_are_dropped_unless_wanted() -> None:
    """K6."""
    dropped = loaded(config_map("a", "u", 5)).get("a", "ns")
    kept = loaded(config_map("a", "u", 5), keep_managed_fields=True).get("a", "ns")
    assert dropped is not None
    assert kept is not None
    assert "managedFields" not in dropped["metadata"]
    assert "managedFields" in kept["metadata"]


def test_items_of_lists_get_their_kind_back() -> None:
    """Lists of built-in kinds leave it out, watches do not; readers must not see a difference."""
    bare = config_map("a", "u", 5)
    del bare["kind"], bare["apiVersion"]
    obj = loaded(bare).get("a", "ns")
    assert obj is not None
    assert (obj["apiVersion"], obj["kind"]) == ("v1", "ConfigMap")


def test_lists_are_sorted_and_filtered() -> None:
    """By name, whatever the order of arrival; by namespace and labels as on the server."""
    cache = Cache(CONFIG_MAP)
    for name, namespace in [("b", "two"), ("a", "two"), ("c", "one")]:
        obj = config_map(name, f"{name}-uid", 5, namespace=namespace)
        obj["metadata"]["labels"] = {"name": name}
        cache.apply(WatchEvent("ADDED", obj))
    assert [obj["metadata"]["name"] for obj in cache.list()] == ["c", "a", "b"]
    assert [obj["metadata"]["name"] for obj in cache.list("two")] == ["a", "b"]
    assert [obj["metadata"]["name"] for obj in cache.list(labels="name notin (a,c)")] == ["b"]
    assert cache.list("three") == []


def test_indexes_follow_the_objects() -> None:
    """Under its current values, not its former ones; a deleted object has no entries."""
    cache = loaded(
        labelled("a", {"app": "x"}, owner="one"),
        labelled("b", {"app": "y"}, owner="one"),
        indexes={"owner": by_owner, "app": by_label("app")},
    )
    assert [ref.name for ref in cache.refs("owner", "one")] == ["a", "b"]
    cache.apply(WatchEvent("MODIFIED", labelled("a", {"app": "z"}, 11, owner="two")))
    assert [ref.name for ref in cache.refs("owner", "one")] == ["b"]
    assert [obj["metadata"]["name"] for obj in cache.list(index=("app", "z"))] == ["a"]
    cache.apply(WatchEvent("DELETED", labelled("a", {"app": "z"}, 12, owner="two")))
    assert cache.refs("owner", "two") == []
    assert cache.refs("app", "z") == []


def test_an_index_function_gets_objects_as_readers_do() -> None:
    """An item of a list has no kind of its own; it must be found again when it changes."""
    bare = config_map("a", "u", 5)
    del bare["kind"], bare["apiVersion"]
    cache = loaded(bare, indexes={"kind": lambda obj: [obj.get("kind", "none")]})
    assert [ref.name for ref in cache.refs("kind", "ConfigMap")] == ["a"]
    cache.apply(WatchEvent("DELETED", config_map("a", "u", 12)))
    assert [cache.refs("kind", word) for word in ("ConfigMap", "none")] == [[], []]


def test_an_index_declared_late_finds_what_is_there() -> None:
    """A second controller may share a cache that is already filled."""
    cache = loaded(labelled("a", {"app": "x"}))
    app = by_label("app")
    cache.add_index("app", app)
    cache.add_index("app", app)
    assert [ref.name for ref in cache.refs("app", "x")] == ["a"]
    with pytest.raises(UsageError, match="declared twice, with different functions"):
        cache.add_index("app", by_label("other"))
    with pytest.raises(UsageError, match="no index 'owner'"):
        cache.refs("owner", "x")


def test_functions_that_fail_affect_no_other_object() -> None:
    """F28: user code may get an object that it did not expect."""

    def fragile(obj: Any) -> list[str]:
        return [obj["data"]["needed"]]

    def broken(obj: Json) -> Json:
        raise KeyError(obj["metadata"]["name"])

    good = config_map("b", "u2", 6)
    good["data"]["needed"] = "yes"
    cache = loaded(config_map("a", "u", 5), good, indexes={"needed": fragile}, transform=broken)
    assert len(cache) == 2
    assert [ref.name for ref in cache.refs("needed", "yes")] == ["b"]


def test_objects_without_a_name_are_skipped() -> None:
    """F28: a malformed item does not affect the others."""
    cache = loaded({"metadata": None}, {"metadata": "?"}, {"data": {}}, config_map("a", "u", 5))
    assert len(cache) == 1


def test_an_object_of_a_cluster_scoped_kind_has_no_namespace() -> None:
    """A namespace in its metadata is ignored."""
    cache = loaded(config_map("a", "u", 5, namespace="ns"), scope=NAMESPACE)
    assert cache.get("a") is not None


def test_a_version_that_is_not_a_number_is_always_accepted() -> None:
    """Some aggregated servers have such versions, which cannot be ordered."""
    cache = Cache(CONFIG_MAP)
    for version in ("zz", "aa"):
        obj = config_map("a", "u", 5, text=version)
        obj["metadata"]["resourceVersion"] = version
        change = cache.apply(WatchEvent("MODIFIED", obj))
        assert change is not None
        assert change.version == ""
        assert cache.get("a", "ns") == change.after


def test_a_transform_decides_what_is_kept() -> None:
    """For kinds with large objects of which little is needed."""
    cache = loaded(config_map("a", "u", 5), transform=lambda obj: {**obj, "data": {}})
    obj = cache.get("a", "ns")
    assert obj is not None
    assert obj["data"] == {}


def test_an_own_write_is_visible_and_its_event_changes_nothing() -> None:
    """K3."""
    cache = loaded()
    change = cache.record_write(config_map("a", "u", 12), by="pass 7")
    assert change is not None
    assert (change.source, change.by, change.type) == (Source.WRITE, "pass 7", "added")
    assert cache.get("a", "ns") is not None
    assert cache.apply(WatchEvent("ADDED", config_map("a", "u", 12))) is None
    assert cache.apply(WatchEvent("ADDED", config_map("a", "u", 11))) is None


def test_the_event_of_an_own_write_is_recognised_by_its_version_alone() -> None:
    """There is one for every write, so nothing else of it is decoded."""
    looked_at: list[Json] = []

    def look(obj: Json) -> Json:
        looked_at.append(obj)
        return obj

    cache = loaded(transform=look)
    cache.record_write(config_map("a", "u", 12))
    assert len(looked_at) == 1
    cache.apply(WatchEvent("ADDED", config_map("a", "u", 12)))
    assert len(looked_at) == 1


def test_an_own_write_keeps_the_parent_only_if_the_cache_holds_what_the_write_was_decided_on() -> (
    None
):
    """Otherwise another client's change is part of the same change, and may concern another parent."""
    cache = loaded()
    first = cache.record_write(config_map("a", "u", 12), child_at=0)
    seen = cache.stamp("a", "ns")
    second = cache.record_write(config_map("a", "u", 13), child_at=seen)
    third = cache.record_write(config_map("a", "u", 14), child_at=seen)
    fourth = cache.record_write(config_map("a", "u", 15))
    kept = [change and change.keeps_parent for change in (first, second, third, fourth)]
    assert kept == [True, True, False, False]


def test_an_own_write_leaves_the_object_of_the_caller_alone() -> None:
    """The cache keeps the dicts of events, but not an object that the caller still holds."""
    obj = config_map("a", "u", 12)
    loaded().record_write(obj)
    assert "managedFields" in obj["metadata"]


def test_a_cache_of_metadata_keeps_metadata_of_own_writes() -> None:
    """Otherwise a reader would see data only until the next event."""
    cache = loaded(scope=Scope(CONFIG_MAP, metadata_only=True))
    cache.record_write(config_map("a", "u", 12))
    obj = cache.get("a", "ns")
    assert obj is not None
    assert sorted(obj) == ["apiVersion", "kind", "metadata"]


def test_a_late_event_does_not_bring_back_a_deleted_object() -> None:
    """A watch that lags behind still delivers its earlier events."""
    cache = loaded(config_map("a", "u", 5))
    change = cache.record_delete(REF, uid="u")
    assert change is not None
    assert change.type == "deleted"
    assert cache.apply(WatchEvent("MODIFIED", config_map("a", "u", 11))) is None
    assert cache.get("a", "ns") is None
    assert cache.apply(WatchEvent("DELETED", config_map("a", "u", 12))) is None
    assert len(cache._tombstones) == 0, "the watch has told of the end"
    successor = cache.apply(WatchEvent("ADDED", config_map("a", "other", 13)))
    assert successor is not None


def test_nothing_is_kept_of_a_namespace_without_objects() -> None:
    """Namespaces are created and deleted for as long as the process runs."""
    cache = loaded(config_map("a", "u", 5))
    cache.apply(WatchEvent("DELETED", config_map("a", "u", 12)))
    assert cache._objects == {}


def test_a_write_that_the_watch_has_passed_is_not_brought_back() -> None:
    """Rule 4: the watch is past it and does not have the object, so it was deleted since."""
    cache = loaded(version=20)
    assert cache.record_write(config_map("a", "u", 15)) is None
    assert cache.get("a", "ns") is None


def test_a_late_response_does_not_protect_an_object_that_the_list_lacks() -> None:
    """The list knows that it is deleted; an old response must not keep it."""
    cache = loaded(config_map("a", "u", 5))
    cache.load(Listing([], "20", begins=True))
    assert cache.record_write(config_map("a", "u", 5)) is None
    changes = cache.load(Listing([], "20", completes=True))
    assert [change.type for change in changes] == ["deleted"]


def test_an_own_write_during_a_list_is_judged_by_it() -> None:
    """Older than the list and not in it: created, and deleted by another client before the list."""
    cache = loaded()
    cache.load(Listing([], "20", begins=True))
    assert cache.record_write(config_map("a", "u", 15)) is not None
    assert cache.record_write(config_map("b", "u2", 25)) is not None
    changes = cache.load(Listing([], "20", completes=True))
    assert [(change.ref.name, change.type) for change in changes] == [("a", "deleted")]


def test_responses_of_two_deletes_may_come_in_any_order() -> None:
    """The later uid wins."""
    cache = loaded()
    cache.record_delete(REF, uid="second", version="13")
    cache.record_delete(REF, uid="first", version="11")
    assert cache.record_write(config_map("a", "second", 13)) is None
    assert cache.apply(WatchEvent("ADDED", config_map("a", "second", 12))) is None


def test_a_delete_that_the_watch_has_delivered_leaves_no_tombstone() -> None:
    """No later event would remove it."""
    cache = loaded(config_map("a", "u", 5))
    cache.apply(WatchEvent("DELETED", config_map("a", "u", 12)))
    cache.record_delete(REF, uid="u", version="5")
    assert len(cache._tombstones) == 0


def test_a_list_removes_older_tombstones() -> None:
    """A consistent list covers the deletions before it; those during it stay."""
    cache = loaded(config_map("a", "u", 5), config_map("b", "u2", 6))
    cache.record_delete(REF, uid="u")
    cache.load(Listing([], "20", begins=True))
    cache.record_delete(ObjectRef(CONFIG_MAP, "b", "ns"), uid="u2")
    cache.load(Listing([], "20", completes=True))
    assert len(cache._tombstones) == 1


def test_a_delete_does_not_affect_an_object_created_again() -> None:
    """F23: the same name, another uid."""
    cache = loaded(config_map("a", "new", 9))
    assert cache.record_delete(REF, uid="old", version="5") is None
    assert cache.get("a", "ns") is not None


def test_a_new_uid_is_a_replacement() -> None:
    """F05: deletion and creation are seen as one change."""
    cache = loaded(config_map("a", "old", 5))
    change = cache.apply(WatchEvent("MODIFIED", config_map("a", "new", 11)))
    assert change is not None
    assert change.type == "replaced"
    assert change.uid == "new"


def finalized(grace: int | None = 0) -> Json:
    """Return the response to the removal of the last finalizer: FACTS 34, the old version."""
    obj = config_map("a", "u", 5)
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if grace is not None:
        obj["metadata"]["deletionGracePeriodSeconds"] = grace
    return obj


def test_removing_the_last_finalizer_is_a_deletion() -> None:
    """The server returns the object at its old version, but it is deleted."""
    held = finalized()
    held["metadata"]["finalizers"] = ["demo.dev/f"]
    cache = loaded(held)
    change = cache.record_write(finalized())
    assert change is not None
    assert change.type == "deleted"


def test_pods_and_namespaces_outlive_their_delete() -> None:
    """They have a grace period, and finalizers in the spec."""
    pods = Cache(POD)
    assert pods.record_write(finalized(grace=30)) is not None
    assert len(pods) == 1
    namespaces = Cache(NAMESPACE)
    space = finalized(grace=None)
    space["spec"] = {"finalizers": ["kubernetes"]}
    namespaces.record_write(space)
    assert len(namespaces) == 1


def test_own_writes_outside_the_scope_are_not_shown() -> None:
    """A cache with a label selector has what the server would list with it."""
    cache = loaded(scope=Scope(CONFIG_MAP, labels="app=x"))
    assert cache.record_write(labelled("a", {"app": "y"}, 12)) is None
    assert cache.record_write(labelled("a", {"app": "x"}, 13)) is not None
    left = cache.record_write(labelled("a", {"app": "y"}, 14))
    assert left is not None
    assert left.type == "deleted"
    assert cache.apply(WatchEvent("ADDED", labelled("a", {"app": "x"}, 13))) is None
    assert cache.apply(WatchEvent("ADDED", labelled("a", {"app": "x"}, 15))) is not None


def test_field_selectors_are_left_to_the_server() -> None:
    """An object that only the server can judge is shown if it was shown before."""
    cache = loaded(config_map("a", "u", 5), scope=Scope(CONFIG_MAP, fields="data.text=x"))
    assert cache.record_write(config_map("b", "u2", 12)) is None
    assert cache.record_write(config_map("a", "u", 13)) is not None
    named = loaded(scope=Scope(CONFIG_MAP, fields="metadata.name=a"))
    assert named.record_write(config_map("b", "u2", 12)) is None
    assert named.record_write(config_map("a", "u", 12)) is not None


def test_a_restored_server_may_go_back() -> None:
    """Rule 9 of the protocol: versions start again."""
    cache = loaded(config_map("a", "u", 50), config_map("b", "u2", 60), version=70)
    changes = cache.load(
        Listing([config_map("a", "u", 40)], "45", begins=True, completes=True, forgets=True)
    )
    assert sorted((change.ref.name, change.type) for change in changes) == [
        ("a", "modified"),
        ("b", "deleted"),
    ]


def test_a_restored_server_with_the_same_objects_causes_no_changes() -> None:
    """Otherwise every controller would run a pass for every object."""
    cache = loaded(config_map("a", "u", 40), version=70)
    again = Listing([config_map("a", "u", 40)], "45", begins=True, completes=True, forgets=True)
    assert cache.load(again) == []


def test_bytes_are_about_the_size_of_the_object() -> None:
    """K6: per object only its bytes, uid and version are kept."""
    obj = config_map("a", "u", 5, "x" * 1000)
    cache = loaded(obj)
    entry = cache.entry(("ns", "a"))
    assert entry is not None
    assert len(entry) < len(orjson.dumps(obj)) + 60
    assert b'"kind"' not in entry, "the cache knows its kind"
    assert b'"apiVersion"' not in entry


def test_the_object_that_is_encoded_is_not_changed() -> None:
    """A transform may return the same object again and again."""
    obj = config_map("a", "u", 5)
    encode(obj, "u", 5)
    assert obj == config_map("a", "u", 5)

"""A15 on the embedded server: another writer reverts an object after each write."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, applying, config_map, events, first, thing

MAP = kinds.CONFIG_MAP
PATH = "/api/v1/namespaces/default/configmaps/child"
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


class Rival:
    """Another controller of the cluster, which sets another value in the same field."""

    def __init__(self, field: str = "value", value: str = "theirs") -> None:
        self.data = {field: value}
        self.active, self.writes = True, 0
        self._seen: Json | None = None

    def observe(self, change: Any) -> None:
        """See each version of the ConfigMap."""
        if change.resource == "configmaps" and change.record.key.endswith("/child"):
            self._seen = None if change.deleted else change.record.value

    def act(self, server: Any) -> bool:
        """Write its value, if it is not there."""
        seen = self._seen
        if not self.active or seen is None or self.data.items() <= seen["data"].items():
            return False
        self.writes += 1
        query = (("fieldManager", "rival"),)
        media = "application/merge-patch+json"
        server.request("PATCH", PATH, {"data": self.data}, content_type=media, query=query)
        return True

    def due(self) -> None:
        """Return None: it acts only on changes."""


def pass_time(cluster: Harness, duration: timedelta) -> None:
    """Let both sides work, second by second."""
    for _ in range(int(duration.total_seconds())):
        cluster.advance(SECOND)


def child_writes(cluster: Harness) -> int:
    """Return how often the controller has changed the child."""
    return sum(1 for write in cluster.writes if write.path == PATH)


def metric(cluster: Harness) -> float:
    """Return the value of a metric."""
    manager = cluster.manager
    manager._refresh()
    value = manager.metrics.registry.get_sample_value(
        "myrmidon_stalled_objects", {"controller": "thing"}
    )
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("way", "rival"),
    [
        ({}, Rival()),
        ({"as_update": True}, Rival()),
        ({"as_update": True}, Rival(field="added")),
        ({"server_side": True, "force": True}, Rival()),
        ({"owner_refs": False}, Rival()),
    ],
    ids=["merge", "update", "update removes", "server-side", "tracked"],
)
def test_a15_a_stall_is_reported_and_writes_become_rare(way: dict[str, Any], rival: Rival) -> None:
    """The condition names the field, both managers and the fix."""
    with Harness(Things(applying(**way)), actors=(rival,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, MINUTE / 2)
        first_writes = child_writes(cluster)
        assert first_writes == 7, "five reversals to an earlier value"
        pass_time(cluster, 10 * MINUTE)
        assert child_writes(cluster) - first_writes <= 6

        (name,) = rival.data
        stalled = cluster.condition(Thing, "it", "Stalled")
        assert stalled is not None
        assert (stalled.status, stalled.reason) == ("True", "Stalled")
        assert stalled.message.startswith(
            f'ConfigMap default/child: data.{name} is written by "thing" and changed back each '
            'time, by "rival" (last at '
        )
        assert (first(cluster).status, first(cluster).reason) == ("False", "Stalled")
        assert not cluster.ready(Thing, "it")
        assert len(events(cluster, "Stalled")) == 1
        assert metric(cluster) == 1


def test_a15_a_stall_ends_by_itself() -> None:
    """After the other writer has stopped, the next write holds, and the condition is removed."""
    rival = Rival()
    with Harness(Things(applying()), actors=(rival,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, 2 * MINUTE)
        assert cluster.condition(Thing, "it", "Stalled") is not None
        rival.active = False
        pass_time(cluster, 10 * MINUTE)

        assert cluster.require(MAP, "child")["data"] == {"value": "a"}
        assert cluster.condition(Thing, "it", "Stalled") is None
        assert cluster.ready(Thing, "it")
        assert metric(cluster) == 0
        cluster.at_rest()


def test_a15_a_stall_is_not_over_at_the_first_pass_that_finds_the_object_as_declared() -> None:
    """Nor at the next ones: the other writer may only be slow.  So Stalled stays for a while."""
    rival = Rival()
    with Harness(Things(applying()), actors=(rival,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, 2 * MINUTE)
        rival.active = False
        while cluster.require(MAP, "child")["data"] != {"value": "a"}:
            cluster.advance(SECOND)
        for value in range(4):
            cluster.patch(Thing, "it", {"metadata": {"labels": {"n": str(value)}}})
            cluster.advance(SECOND)
            assert cluster.condition(Thing, "it", "Stalled") is not None
            assert not cluster.ready(Thing, "it")


def test_a15_another_declaration_is_written_at_once() -> None:
    """A user who changes the declaration does not wait for the delay."""
    rival = Rival()
    with Harness(Things(applying()), actors=(rival,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, MINUTE / 2)
        cluster.patch(Thing, "it", {"spec": {"value": "theirs"}})
        pass_time(cluster, 2 * SECOND)
        assert cluster.ready(Thing, "it")
        assert cluster.condition(Thing, "it", "Stalled") is None


def test_a15_two_states_of_one_controller_that_disagree() -> None:
    """Each overwrites the other; the message says that no other manager is known."""

    def other(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("child", "other"))
        return Done()

    with Harness(Things(applying(), other), actors=()) as cluster:
        cluster.apply(thing())
        for value in range(40):
            cluster.patch(Thing, "it", {"metadata": {"labels": {"n": str(value)}}})
            pass_time(cluster, 2 * SECOND)
        assert child_writes(cluster) <= 20
        stalled = cluster.condition(Thing, "it", "Stalled")
        assert stalled is not None
        assert "by an admission webhook or another state of this controller" in stalled.message


def test_no_stall_for_a_user_who_tries_one_value_after_the_other() -> None:
    """Each edit is corrected at once."""
    with Harness(Things(applying()), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        for number in range(20):
            pass_time(cluster, 5 * SECOND)
            cluster.patch(MAP, "child", {"data": {"value": f"edit {number}"}})
            pass_time(cluster, SECOND)
            assert cluster.require(MAP, "child")["data"] == {"value": "a"}
        assert events(cluster, "Stalled") == []


def test_no_stall_for_a_parent_that_is_changed_often() -> None:
    """A value that changes to and fro in the parent is a new declaration each time."""
    with Harness(Things(applying()), actors=()) as cluster:
        cluster.apply(thing())
        for number in range(40):
            cluster.patch(Thing, "it", {"spec": {"value": "ab"[number % 2]}})
            cluster.settle()
            assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"value": "b"}
        assert events(cluster, "Stalled") == []


def test_a15_recreating_again_and_again_is_a_stall() -> None:
    """Each new object is reverted: without the delay, children would be deleted for ever."""
    rival = Rival()

    def act(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply({**config_map("child"), "immutable": False}, recreate=True)
        return Done()

    def freeze(seen: Json) -> bool:
        return not seen.get("immutable")

    class Freezer(Rival):
        """Changes the value and makes the object immutable."""

        def act(self, server: Any) -> bool:
            seen = self._seen
            if not seen or not freeze(seen):
                return False
            self.writes += 1
            body = {"data": {"value": "frozen"}, "immutable": True}
            media = "application/merge-patch+json"
            server.request("PATCH", PATH, body, content_type=media)
            return True

    rival = Freezer()
    with Harness(Things(act), actors=(rival,)) as cluster:
        cluster.apply(thing())
        pass_time(cluster, 5 * MINUTE)
        assert rival.writes <= 12
        assert first(cluster).reason == "Stalled"


def test_a_stalled_condition_of_another_writer_survives() -> None:
    """C6: only ours has the reason Stalled."""
    foreign = {
        "type": "Stalled",
        "status": "True",
        "reason": "QuotaDenied",
        "message": "of another controller",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    with Harness(Things()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        conditions = cluster.require(Thing, "it").status.conditions
        status = {"status": {"conditions": [*conditions, foreign]}}
        cluster.patch(Thing, "it", status, subresource="status")
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(hours=1))
        assert cluster.condition(Thing, "it", "Stalled").reason == "QuotaDenied"  # type: ignore[union-attr]

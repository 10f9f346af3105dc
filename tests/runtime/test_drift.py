"""Drift: changes by other writers that the controller corrected are counted.

Other writes are not.
"""

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Lose, Stall, is_watch
from tests.runtime.things import Thing, Things, config_map, thing

HOUR = timedelta(hours=1)


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child with the value of the spec."""
    out.apply(config_map("child", it.spec.value))
    return Done()


def corrections(cluster: Harness) -> tuple[float | None, float | None]:
    """The number of corrections, and the seconds in which the outputs had been as declared."""
    registry, labels = (
        cluster.manager.metrics.registry,
        {"controller": "thing", "kind": "ConfigMap"},
    )
    return (
        registry.get_sample_value("myrmidon_drift_corrections_total", labels),
        registry.get_sample_value("myrmidon_drift_seconds_sum", labels),
    )


def spoil(cluster: Harness, value: str = "theirs") -> None:
    """Change a field of the child as another writer, and let the controller correct it."""
    cluster.patch(kinds.CONFIG_MAP, "child", {"data": {"value": value}})
    cluster.settle()
    assert cluster.require(kinds.CONFIG_MAP, "child")["data"] != {"value": value}


def wake(cluster: Harness, times: str) -> None:
    """Cause a pass that changes nothing."""
    cluster.patch(Thing, "it", {"metadata": {"labels": {"pass": times}}})
    cluster.settle()


def settled(cluster: Harness) -> None:
    """Create the parent and its child."""
    cluster.apply(thing())
    cluster.settle()


def test_the_first_write_is_not_drift() -> None:
    """The series exists from the start, with the value 0."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        wake(cluster, "once")
        assert corrections(cluster) == (0.0, None)


@pytest.mark.parametrize("passes", [0, 1, 2], ids=["written", "found", "found again"])
def test_another_writer_changed_a_field(passes: int, caplog: pytest.LogCaptureFixture) -> None:
    """The correction is counted, with the time since the last write, and logged without values."""
    caplog.set_level(logging.INFO)
    with Harness(Things(child)) as cluster:
        settled(cluster)
        for number in range(passes):
            wake(cluster, f"number-{number}")
        cluster.advance(HOUR)
        spoil(cluster)
        assert corrections(cluster) == (1.0, 3600.0)
    (line,) = (record for record in caplog.records if record.message == "drift corrected")
    facts = line.__dict__["facts"]
    assert facts["object"] == "default/it"
    assert str(facts["output"]) == "ConfigMap default/child"
    assert facts["held_seconds"] == 3600
    assert "theirs" not in str(facts)


def test_each_correction_counts_from_the_one_before() -> None:
    """The second correction comes ten seconds after the first."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        cluster.advance(HOUR)
        spoil(cluster)
        cluster.advance(timedelta(seconds=10))
        spoil(cluster, "theirs again")
        assert corrections(cluster) == (2.0, 3610.0)


def test_a_change_of_another_field_does_not_restart_the_time() -> None:
    """A label of another writer wakes the parent; the output has been as declared all the time."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        cluster.advance(HOUR)
        cluster.patch(kinds.CONFIG_MAP, "child", {"metadata": {"labels": {"theirs": "too"}}})
        cluster.advance(HOUR)
        spoil(cluster)
        assert corrections(cluster) == (1.0, 7200.0)


def test_another_writer_deleted_the_object() -> None:
    """Creating it again is a correction."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        cluster.delete(kinds.CONFIG_MAP, "child")
        cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "child") is not None
        assert corrections(cluster)[0] == 1.0


def test_a_changed_declaration_is_not_drift() -> None:
    """Nor is the former declaration, when the parent goes back to it."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        for number, value in enumerate("bab"):
            cluster.patch(Thing, "it", {"spec": {"value": value}})
            cluster.settle()
            wake(cluster, f"number-{number}")
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "b"}
        assert corrections(cluster) == (0.0, None)


def test_after_a_restart_a_difference_is_not_counted_as_drift() -> None:
    """The parent may have changed in the meantime, so that correction is not counted."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        cluster.crash()
        cluster.patch(kinds.CONFIG_MAP, "child", {"data": {"value": "theirs"}})
        cluster.restart()
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        assert corrections(cluster) == (0.0, None)
        spoil(cluster)
        assert corrections(cluster)[0] == 1.0


def test_after_a_restart_a_pass_that_finds_the_output_as_declared_is_enough() -> None:
    """From then on, a change of another writer is drift, although this process never wrote."""
    with Harness(Things(child)) as cluster:
        settled(cluster)
        cluster.restart()
        cluster.settle()
        cluster.advance(HOUR)
        spoil(cluster)
        assert corrections(cluster)[0] == 1.0


def test_a_declaration_that_another_writer_fulfilled_is_remembered() -> None:
    """Without a write of ours in between, going back to the former declaration is not drift."""
    with Harness(Things(child_unless_suspended)) as cluster:
        settled(cluster)
        cluster.patch(Thing, "it", {"spec": {"size": 0}})
        cluster.settle()
        cluster.patch(kinds.CONFIG_MAP, "child", {"data": {"value": "b"}})
        cluster.patch(Thing, "it", {"spec": {"value": "b", "size": 1}})
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "a"}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        assert corrections(cluster) == (0.0, None)


def child_unless_suspended(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply the child unless the size is 0."""
    if it.spec.size:
        out.apply(config_map("child", it.spec.value))
    return Done()


def deleted_while_b(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Delete the child that the first state declares for every other value."""
    if it.spec.value == "b":
        out.delete(kinds.CONFIG_MAP, "child")
    return Done()


def child_unless_b(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply the child, always with the same content."""
    if it.spec.value != "b":
        out.apply(config_map("child"))
    return Done()


@pytest.mark.parametrize("prune", [True, False], ids=["pruned", "deleted by a state"])
def test_our_own_deletion_is_not_drift(prune: bool) -> None:
    """The child is deleted and created again, with the same declarations, by this controller."""
    second = {} if prune else {"second": deleted_while_b}
    with Harness(Things(child_unless_b, **second, prune=prune)) as cluster:
        settled(cluster)
        for value in "baba":
            cluster.patch(Thing, "it", {"spec": {"value": value}})
            cluster.settle()
            found = cluster.get(kinds.CONFIG_MAP, "child")
            assert (found is None) is (value == "b")
        assert corrections(cluster) == (0.0, None)


def second_child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply another value to the same field while the spec says b."""
    if it.spec.value == "b":
        out.apply(config_map("child", "other"))
    return Done()


def test_another_state_of_the_controller_is_not_another_writer() -> None:
    """Two states of one controller write the same field in turns."""
    with Harness(Things(child_unless_b, second_child)) as cluster:
        settled(cluster)
        for value in "baba":
            cluster.patch(Thing, "it", {"spec": {"value": value}})
            cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        assert corrections(cluster) == (0.0, None)


def lost_once() -> Callable[[HttpRequest], Fault | None]:
    """Lose the answer to the first patch of the child; no watch reports changes of children."""
    lost: list[HttpRequest] = []

    def fault(request: HttpRequest) -> Fault | None:
        if is_watch(request) and "/configmaps" in request.path:
            return Stall(lines=1)  # the end of the first list
        if request.method == "PATCH" and request.path.endswith("/child") and not lost:
            lost.append(request)
            return Lose()
        return None

    return fault


def test_after_a_lost_answer_a_difference_is_not_counted_as_drift() -> None:
    """The write of the other declaration took effect unnoticed; undoing it is not a correction."""
    with Harness(Things(child), faults=lost_once()) as cluster:
        settled(cluster)
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.advance(timedelta(milliseconds=10))  # the retry comes later
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "b"}
        cluster.patch(Thing, "it", {"spec": {"value": "a"}})
        cluster.settle()
        assert cluster.require(kinds.CONFIG_MAP, "child")["data"] == {"value": "a"}
        assert corrections(cluster) == (0.0, None)

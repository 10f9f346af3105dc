"""The trace: what the last pass over every object did, as in ``Manager.snapshot``."""

from datetime import timedelta

from myrmidon import ManagerOptions
from myrmidon.runtime.observability.snapshot import ObjectView
from myrmidon.testing import Harness
from tests.testing.machines import Calm, Thing, ThingSpec


def harness() -> Harness:
    """Return a harness whose passes are traced."""
    return Harness(Calm(), options=ManagerOptions(seed=0, trace=True))


def only(cluster: Harness) -> ObjectView:
    """Return the only object."""
    (one,) = cluster.manager.snapshot().objects
    return one


def test_a_converged_object() -> None:
    """Its path, its writes, and the causes of its pass."""
    with harness() as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        one = only(cluster)

    assert (one.phase, one.is_ready, one.waiting, one.again_at) == ("ready", True, None, None)
    assert [(step.state, step.status) for step in one.path] == [
        ("made", "True"),
        ("checked", "True"),
    ]
    assert [str(wrote) for wrote in one.writes] == ["create ConfigMap a", "patch Thing a status"]
    assert one.causes == ("self create of Thing.demo.myrmidon.dev default/a",)


def test_an_object_that_waits() -> None:
    """What it waits for, since when (not since the last pass), and when the next pass is."""
    with harness() as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=10)))
        cluster.advance(timedelta(seconds=150))
        snapshot = cluster.manager.snapshot()
        one = only(cluster)

    assert one.phase == "waiting"
    assert one.waiting is not None
    assert (one.waiting.reason, one.waiting.message) == ("TooBig", "nine is the most")
    assert snapshot.at - one.waiting.since == timedelta(seconds=150)
    assert one.again_at is not None
    assert one.again_at - snapshot.at == timedelta(seconds=30)
    assert one.passes == 3


def test_a_deleted_object() -> None:
    """It is shown for a short time, and then removed."""
    with harness() as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        cluster.delete(Thing, "a")
        cluster.settle()
        assert only(cluster).phase == "gone"

        cluster.advance(timedelta(minutes=2))
        assert cluster.manager.snapshot().objects == ()


def test_without_a_trace_nothing_is_kept() -> None:
    """Without the option no wrapper is installed, so production pays nothing."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()

        assert cluster.manager.snapshot().objects == ()
        assert cluster.manager.loops[0].tracer is None

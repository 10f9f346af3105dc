"""The test kit of users: what it waits for, and its messages when a test fails."""

from datetime import timedelta

import pytest

from myrmidon import kinds
from myrmidon.errors import UsageError
from myrmidon.testing import Harness, NotAtRestError, NotSettledError
from myrmidon.testing.harness.failures import compared
from tests.testing.machines import Calm, Restless, Thing, ThingSpec, config_map


def test_a_converged_controller_is_at_rest() -> None:
    """Further passes write nothing."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        cluster.settle()

        cluster.at_rest()

        assert [str(one) for one in cluster.writes] == [
            "POST /api/v1/namespaces/default/configmaps/a 201",
            "PATCH /apis/demo.myrmidon.dev/v1/namespaces/default/things/a/status 200",
        ]


def test_the_writes_of_a_controller_that_keeps_writing_are_shown() -> None:
    """The message has the changed fields, so that the cause is found without a debugger."""
    with Harness(Restless()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))

        with pytest.raises(NotAtRestError) as told:
            cluster.at_rest()

    assert str(told.value) == (
        "not at rest: 2 resyncs wrote\n"
        "  PATCH /api/v1/namespaces/default/configmaps/a 200\n"
        "      ~ data.passes: '1' -> '2'\n"
        "  PATCH /api/v1/namespaces/default/configmaps/a 200\n"
        "      ~ data.passes: '2' -> '3'"
    )


def test_an_object_that_does_not_settle_is_named_with_what_it_waits_for() -> None:
    """The object, the state, its reason and message, and the time of the next pass."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=10)))

        with pytest.raises(NotSettledError) as told:
            cluster.settle(timedelta(seconds=30))

    assert str(told.value).partition("\n  fix: ")[0] == (
        "not settled after 0:00:30; still owed a pass:\n"
        "  Thing.demo.myrmidon.dev default/a\n"
        "      state checked: Checked is False (TooBig): nine is the most\n"
        "      its next pass is due in 0:01:00"
    )


def test_eventually_waits_and_returns_what_it_found() -> None:
    """It also waits while the function raises."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=10)))
        begun_at = cluster.loop.time()

        reason = cluster.eventually(lambda: cluster.condition(Thing, "a", "Checked").reason)  # type: ignore[union-attr]
        assert reason == "TooBig"
        assert cluster.loop.time() - begun_at < 2

        with pytest.raises(
            NotSettledError, match="and the expected condition does not hold: 'nope'"
        ):
            cluster.eventually(lambda: dict[str, int]()["nope"], timedelta(seconds=5))


def test_writes_are_compared_in_words() -> None:
    """`assert cluster.writes == []` prints the writes, not their bytes."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()

        said = compared(cluster.writes, [])

    assert said is not None
    assert said[:2] == [
        "2 writes, and 0 were expected",
        "  POST /api/v1/namespaces/default/configmaps/a 201",
    ]
    assert compared([1], []) is None


def test_an_unknown_kind_says_whose_controller_is_missing() -> None:
    """The error names the kind for which the test started no controller."""
    with Harness(Calm()) as cluster, pytest.raises(UsageError) as told:
        cluster.apply({"apiVersion": "a/v1", "kind": "Alien", "metadata": {"name": "a"}})
    assert str(told.value) == (
        "no controller of this test knows the kind Alien (a/v1).\n"
        "  fix: pass its controller to harness(...)"
    )


def test_a_restart_writes_nothing() -> None:
    """A new process finds all objects as declared."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.settle()
        before = len(cluster.writes)

        cluster.restart()
        cluster.settle()
        assert cluster.writes[before:] == []

        cluster.apply(config_map("a", size="7"))
        cluster.settle()
        assert cluster.require(Calm.managed_kinds[0], "a")["data"] == {"size": "1"}


def test_the_kind_of_a_read_says_what_it_returns() -> None:
    """A class returns instances of it, a Kind returns JSON."""
    with Harness(Calm()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        cluster.settle()

        assert [one.spec.size for one in cluster.list(Thing)] == [2]
        assert [one["spec"] for one in cluster.list(Thing.KIND)] == [{"size": 2}]
        assert cluster.require(Thing, "a") == cluster.get(Thing, "a")
        assert cluster.require(Thing.KIND, "a") == cluster.get(Thing.KIND, "a")
        assert cluster.get(Thing, "b") is None


def test_a_required_object_that_does_not_exist_fails_the_test() -> None:
    """The message names the objects that exist; ``eventually`` waits for the object."""
    with Harness(Calm()) as cluster:
        cluster.settle()
        with pytest.raises(AssertionError) as told:
            cluster.require(Thing, "a")
        assert str(told.value) == (
            "Thing.demo.myrmidon.dev default/a does not exist; its namespace has none"
        )

        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        with pytest.raises(
            AssertionError, match=r"default/b does not exist; its namespace has a\.?"
        ):
            cluster.require(Thing, "b")
        assert cluster.eventually(lambda: cluster.require(kinds.CONFIG_MAP, "a"))

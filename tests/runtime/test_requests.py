"""The number of requests: k children, one status, one finalizer, and none afterwards."""

from datetime import timedelta
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Exchange, Harness
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing
from tests.runtime.webapps import WebApp, WebApps, web_app, world

HOUR = timedelta(hours=1)


def three(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply three children."""
    out.apply_all(config_map(f"{it.name}-{letter}", it.spec.value) for letter in "abc")
    return Done()


def requests(cluster: Harness, since: int) -> list[Exchange]:
    """Return the requests since then, without the lists and watches of the caches."""
    by_caches = {("watch", "true"), ("limit", "1")}
    return [one for one in cluster.transport.log[since:] if not by_caches & set(one.request.query)]


def test_new_parent_costs_its_children_and_one_status() -> None:
    """A3: k + 1 writes and no read."""
    with Harness(Things(three)) as cluster:
        cluster.settle()
        before = len(cluster.transport.log)
        cluster.apply(thing())
        cluster.settle()

        asked = [one.request.method for one in requests(cluster, before)]
        assert asked == ["POST", "POST", "POST", "PATCH"]


def test_a_finalizer_costs_one_more_write() -> None:
    """A3, W3: it is written before the first output."""
    with Harness(FinalThings(three)) as cluster:
        cluster.settle()
        before = len(cluster.transport.log)
        cluster.apply(thing())
        cluster.settle()

        asked = [one.request.method for one in requests(cluster, before)]
        assert asked == ["PATCH", "POST", "POST", "POST", "PATCH"]


def test_a_change_costs_a_patch_per_child_and_one_status() -> None:
    """A3: k + 1 patches and no read."""
    with Harness(Things(three)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        before = len(cluster.transport.log)
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()

        assert [one.request.method for one in requests(cluster, before)] == ["PATCH"] * 4


def test_converged_objects_cause_no_requests() -> None:
    """A2: resyncs run a pass over every object, and not one request is sent."""
    with Harness(Things(three, sync_period=timedelta(minutes=5))) as cluster:
        for number in range(5):
            cluster.apply(thing(f"t{number}"))
        cluster.settle()
        before = len(cluster.transport.log)
        cluster.advance(HOUR)

        assert requests(cluster, before) == []
        passes = cluster.manager.metrics.reconcile_total.labels("thing", "success")
        assert passes.count >= 5 * 10


def test_a_restart_writes_nothing() -> None:
    """A3: also for fields that the server fills in and quantities that it normalizes."""
    with Harness(WebApps()) as cluster:
        cluster.apply(web_app(hosts=["a.example", "b.example"]))
        cluster.settle()
        assert cluster.ready(WebApp, "shop")
        before, then = len(cluster.writes), world(cluster)

        cluster.restart()
        cluster.settle()

        assert cluster.writes[before:] == []
        assert world(cluster) == then


def test_drift_is_corrected_and_other_fields_stay() -> None:
    """F32: changed and deleted outputs are restored; fields that we never set stay."""
    with Harness(Things(three)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(kinds.CONFIG_MAP, "it-a", {"data": {"value": "x", "theirs": "y"}})
        cluster.delete(kinds.CONFIG_MAP, "it-b")
        cluster.settle()

        assert cluster.require(kinds.CONFIG_MAP, "it-a")["data"] == {"value": "a", "theirs": "y"}
        assert cluster.require(kinds.CONFIG_MAP, "it-b")["data"] == {"value": "a"}
        assert cluster.writes_during(HOUR) == []


def test_controllers_share_one_list_and_watch_per_kind() -> None:
    """K1: one list per kind for any number of controllers; undeclared kinds are never listed."""

    class Other(WebApps):
        """Another controller with the same kind of children, for another kind of parent."""

    with Harness(Things(three), Other()) as cluster:
        cluster.apply(thing())
        cluster.settle()

        watched: dict[str, int] = {}
        for one in cluster.transport.log:
            query: dict[str, Any] = dict(one.request.query)
            if query.get("watch") == "true":
                watched[one.request.path] = watched.get(one.request.path, 0) + 1
        assert set(watched.values()) == {1}
        assert "/api/v1/configmaps" in watched
        assert "/api/v1/pods" not in watched
        assert len(watched) == len({*Things.managed_kinds, *Other.managed_kinds}) + 2

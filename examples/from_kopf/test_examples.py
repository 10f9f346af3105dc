"""One test for each of kopf's examples, on the embedded server and in virtual time."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from examples.from_kopf import (
    ex01_minimal,
    ex02_children,
    ex03_exceptions,
    ex04_events,
    ex05_handlers,
    ex06_peering,
    ex07_subhandlers,
    ex08_events,
    ex09_testing,
    ex10_builtins,
    ex11_filtering,
    ex12_embedded,
    ex13_hooks,
    ex14_daemons,
    ex15_timers,
    ex16_indexing,
    ex17_admission,
    ex99_all_at_once,
)
from examples.from_kopf.resource import Example, ExampleSpec
from myrmidon import Condition, Manager, ManagerOptions, kinds
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.errors import MyrmidonError
from myrmidon.generate import crd
from myrmidon.io.timers.clock import LoopClock
from myrmidon.testing import ApiServer, Harness, run

POD = {"containers": [{"name": "main", "image": "busybox"}]}


def example(name: str = "one", **spec: Any) -> Example:
    """Build an Example."""
    return Example(name=name, spec=ExampleSpec(**spec))


def condition(cluster: Harness, type_: str) -> Condition:
    """Return a condition of the Example, which must exist."""
    found = cluster.condition(Example, "one", type_)
    assert found is not None
    return found


def message(cluster: Harness) -> str | None:
    """Return the message in the status of the Example."""
    return cluster.require(Example, "one").status.message


def test_01_minimal() -> None:
    """The status has the greeting."""
    with Harness(ex01_minimal.Examples()) as cluster:
        cluster.apply(example())
        cluster.settle()
        assert message(cluster) == "hello world"
        cluster.at_rest()


def test_02_children() -> None:
    """The pod is owned, recorded, replaced when the spec changes, and deleted with its parent."""
    with Harness(ex02_children.Examples()) as cluster:
        cluster.apply(example(field="a"))
        cluster.settle()
        first = cluster.require(kinds.POD, "one")
        assert first["metadata"]["ownerReferences"][0]["kind"] == "Example"
        assert len(cluster.require(Example, "one").status.resource_refs) == 1
        cluster.patch(Example, "one", {"spec": {"field": "b"}})
        cluster.settle()
        second = cluster.require(kinds.POD, "one")
        assert second["spec"]["containers"][0]["env"] == [{"name": "FIELD", "value": "b"}]
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        cluster.delete(Example, "one")
        cluster.settle()
        assert cluster.list(kinds.POD) == []


def test_03_exceptions() -> None:
    """A wait, an exception, and the end of the retries."""
    with Harness(ex03_exceptions.Examples()) as cluster:
        cluster.apply(example())
        reasons: list[str] = []
        for _ in range(3):
            reasons.append(cluster.eventually(lambda: _new(cluster, reasons)))
        assert reasons[0] == "NotYet"
        assert reasons[2] == "GaveUp"
        cluster.settle()
        assert cluster.writes_during(timedelta(hours=1)) == []


def _new(cluster: Harness, reasons: list[str]) -> str:
    found = condition(cluster, "Tried").reason
    return "" if found in reasons else found


def test_04_events() -> None:
    """Three Events, which are not repeated as new objects."""
    with Harness(ex04_events.Examples()) as cluster:
        cluster.apply(example())
        cluster.settle()
        cluster.advance(timedelta(minutes=1))
        told = {one["reason"]: one["type"] for one in cluster.list(kinds.EVENT)}
        assert told == {"SomeReason": "Normal", "OtherReason": "Warning", "NotANumber": "Warning"}


def test_05_handlers() -> None:
    """A change of the field is seen once, also across a restart; a deletion is handled."""
    controller = ex05_handlers.Examples()
    with Harness(controller) as cluster:
        cluster.apply(example(field="a"))
        cluster.settle()
        assert message(cluster) == "None -> a"
        cluster.crash()
        cluster.patch(Example, "one", {"spec": {"field": "b"}})
        cluster.restart()
        cluster.settle()
        assert message(cluster) == "a -> b"
        cluster.delete(Example, "one")
        cluster.settle()
        assert controller.released == ["one"]


def test_06_peering() -> None:
    """A Lease says who works."""
    with Harness(ex06_peering.Examples(), options=ex06_peering.OPTIONS) as cluster:
        cluster.apply(example())
        cluster.settle()
        assert cluster.ready(Example, "one")
        assert [lease["metadata"]["name"] for lease in cluster.list(kinds.LEASE)] == ["examples"]


def test_07_subhandlers() -> None:
    """One ConfigMap for each item; one that leaves the list is deleted."""
    with Harness(ex07_subhandlers.Examples()) as cluster:
        cluster.apply(example(items=["a", "b"]))
        cluster.settle()
        assert _own(cluster) == ["one-a", "one-b"]
        cluster.patch(Example, "one", {"spec": {"items": ["b", "c"]}})
        cluster.settle()
        assert _own(cluster) == ["one-b", "one-c"]


def _own(cluster: Harness) -> list[str]:
    names = [one["metadata"]["name"] for one in cluster.list(kinds.CONFIG_MAP)]
    return sorted(name for name in names if name.startswith("one-"))


def test_08_events() -> None:
    """The causes of the passes: the creation and the change."""
    controller = ex08_events.Examples()
    with Harness(controller) as cluster:
        cluster.apply(example())
        cluster.settle()
        cluster.patch(Example, "one", {"spec": {"field": "b"}})
        cluster.settle()
        assert controller.seen[0].startswith("self create of Example")
        assert controller.seen[-1].startswith("self update of Example")


def test_09_testing(caplog: pytest.LogCaptureFixture) -> None:
    """The whole life of an object, without a cluster and without waiting."""
    with caplog.at_level(logging.INFO), Harness(ex09_testing.Examples()) as cluster:
        cluster.apply(example())
        cluster.settle()
        cluster.delete(Example, "one")
        cluster.settle()
        assert cluster.list(Example) == []
    assert "the example was handled" in caplog.text


def test_10_builtins() -> None:
    """A pod is deleted after 30 seconds, also if the controller was restarted meanwhile."""
    with Harness(ex10_builtins.ShortLivedPods()) as cluster:
        for namespace in ("default", "kube-system"):
            meta = {"name": "p", "namespace": namespace}
            cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": POD})
        cluster.advance(timedelta(seconds=20))
        cluster.restart()
        cluster.advance(timedelta(seconds=9))
        assert cluster.get(kinds.POD, "p") is not None
        cluster.advance(timedelta(seconds=5))
        assert cluster.get(kinds.POD, "p") is None
        assert cluster.get(kinds.POD, "p", "kube-system") is not None


def test_11_filtering() -> None:
    """By label on the server, by annotation in a state."""
    with Harness(ex11_filtering.Examples()) as cluster:
        for name, labels, annotations in (
            ("none", {}, {}),
            ("usual", {"somelabel": "othervalue"}, {}),
            ("special", {"somelabel": "somevalue"}, {"someannotation": "x"}),
        ):
            made = example(name)
            made.labels, made.annotations = labels, annotations
            cluster.apply(made)
        cluster.settle()
        assert cluster.condition(Example, "none") is None
        assert cluster.condition(Example, "usual", "Usual") is not None
        assert cluster.require(Example, "special").status.message == "someannotation=x"


@pytest.fixture
def server() -> ApiServer:
    """Return a server that knows the resource and holds an object of it."""
    made = ApiServer()
    made.create(crd(Example))
    made.create(example().to_json() | {"metadata": {"name": "one", "namespace": "default"}})
    return made


def manager_of(server: ApiServer) -> Manager:
    """Return a manager on that server, which serves neither metrics nor health."""
    options = ManagerOptions(seed=0, metrics_addr="", health_addr="", trace=True)
    return Manager(options, transport=LocalTransport(server))


async def until_ready(manager: Manager) -> None:
    """Return when the manager has brought its object to Ready."""
    clock = LoopClock()
    while [one.phase for one in manager.snapshot().objects] != ["ready"]:
        await clock.sleep(0.1)


def test_12_embedded(server: ApiServer) -> None:
    """The application and the controllers run in one event loop, and end together."""

    async def program() -> None:
        manager = manager_of(server)
        await ex12_embedded.main(manager, lambda: until_ready(manager))

    run(program())
    stored = server.request("GET", "/apis/kopf.example.com/v1/namespaces/default/examples/one")
    assert b"seen by the program" in stored.body


def test_13_hooks(server: ApiServer) -> None:
    """The connection is open before the first pass, and closed after the last one."""

    async def program() -> list[str]:
        manager = manager_of(server)
        async with asyncio.TaskGroup() as group:
            ran = group.create_task(ex13_hooks.main(manager))
            await until_ready(manager)
            assert set(ex13_hooks.probe(manager).values()) == {None}
            manager.stop()
        return ran.result()

    assert run(program()) == ["opened", "served one", "closed"]


def test_14_daemons() -> None:
    """The task reports every five seconds until its object is deleted."""
    controller = ex14_daemons.Examples()
    with Harness(controller) as cluster:
        cluster.apply(example())
        cluster.advance(timedelta(seconds=11))
        assert message(cluster) == "pinged 2 times"
        (task,) = controller.tasks.values()
        cluster.delete(Example, "one")
        cluster.settle()
        assert task.cancelled()
        assert controller.tasks == {}


def test_15_timers() -> None:
    """Every two seconds, while the object is Ready; nothing is written."""
    controller = ex15_timers.Examples()
    with Harness(controller) as cluster:
        cluster.apply(example())
        cluster.settle()
        before = controller.pings["one"]
        assert cluster.writes_during(timedelta(seconds=10)) == []
        assert controller.pings["one"] - before == 5
        assert cluster.ready(Example, "one")


def test_16_indexing() -> None:
    """The status follows the pods."""
    with Harness(ex16_indexing.Examples()) as cluster:
        cluster.apply(example())
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD})
        cluster.settle()
        assert cluster.require(Example, "one").status.running_pods == ["default::p"]
        cluster.delete(kinds.POD, "p")
        cluster.settle()
        assert cluster.require(Example, "one").status.running_pods == []


def test_17_admission() -> None:
    """A wrong value is refused with the message of the rule; a missing one is filled in."""
    with Harness(ex17_admission.Guardeds()) as cluster:
        good = {"apiVersion": "kopf.example.com/v1", "kind": "Guarded", "metadata": {"name": "g"}}
        stored = cluster.apply(good | {"spec": {}})
        assert stored["spec"] == {"field": "value", "injected": 123}
        with pytest.raises(MyrmidonError, match="change the field"):
            cluster.apply(good | {"metadata": {"name": "bad"}, "spec": {"field": "wrong"}})


def test_99_all_at_once() -> None:
    """The whole life: created, waited for, changed, deleted."""
    controller = ex99_all_at_once.Examples()
    with Harness(controller) as cluster:
        cluster.apply(example())
        cluster.eventually(lambda: condition(cluster, "Running").reason == "Starting")
        cluster.settle()
        assert cluster.ready(Example, "one")
        cluster.patch(Example, "one", {"spec": {"field": "b"}})
        cluster.settle()
        cluster.delete(Example, "one")
        cluster.settle()
        assert controller.released == ["one"]
        assert cluster.list(kinds.POD) == []

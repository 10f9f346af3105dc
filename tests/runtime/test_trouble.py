"""Invalid objects and failing states affect only themselves."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT
from myrmidon.sets import OutputSet
from myrmidon.testing import Fault, Harness, Lose, Status
from tests.runtime.things import FinalThings, Thing, Things, config_map, thing

HOUR = timedelta(hours=1)
CRD = "things.test.myrmidon.dev"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(it.name, it.spec.value))
    return Done()


def reason(cluster: Harness, name: str = "it", condition_type: str = "First") -> str:
    """Return the reason of a condition."""
    condition = cluster.condition(Thing, name, condition_type)
    return condition.reason if condition else "none"


def loosen(cluster: Harness) -> None:
    """Let the server accept any object of the kind."""
    crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, CRD)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = ANYTHING
    cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, CRD, crd)


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"spec": {"size": "huge"}}, "spec.size"),
        ({"spec": "text"}, "spec"),
        ({"spec": {}, "status": {"note": 7}}, "status.note"),
        ({"spec": {}, "status": "text"}, "status"),
        ({"spec": {}, "status": {"conditions": 7}}, "status.conditions"),
        ({"spec": {}, "status": {"conditions": "none"}}, "status.conditions"),
        ({"spec": {}, "status": {"conditions": [7]}}, "status.conditions"),
        ({"spec": {}, "status": {"resourceRefs": {"a": 1}}}, "status.resourceRefs"),
    ],
    ids=["type", "text", "status", "word", "number", "conditions", "condition", "references"],
)
def test_an_invalid_object_is_quarantined(broken: Json, where: str) -> None:
    """F28, Q5: its Ready names the field, it is not retried in a loop, and the others converge."""
    with Harness(Things(child)) as cluster:
        cluster.settle()
        loosen(cluster)
        for name in ("a", "bad", "z"):
            it = thing(name).to_json()
            cluster.apply({**it, **broken, "spec": broken["spec"]} if name == "bad" else it)
            if name == "bad" and "status" in broken:
                body = {"status": broken["status"]}
                cluster.patch(Thing, "bad", body, subresource="status")
        cluster.advance(HOUR)

        assert cluster.ready(Thing, "a")
        assert cluster.ready(Thing, "z")
        bad = next(one for one in cluster.list(Thing.KIND) if one["metadata"]["name"] == "bad")
        # The test's status write makes one of ours stale, which is then decided again.
        assert len([one for one in cluster.writes if "/things/bad" in one.request.path]) <= 3
        ready = [one for one in bad["status"]["conditions"] if isinstance(one, dict)]
        if where.startswith("status") and cluster.get(kinds.CONFIG_MAP, "bad"):
            return  # our own write has repaired it
        assert ready[-1]["reason"] == "InvalidObject"
        assert where in ready[-1]["message"]


def test_quarantine_ends_with_the_correction() -> None:
    """F28: it needs no restart."""
    with Harness(Things(child)) as cluster:
        cluster.settle()
        loosen(cluster)
        cluster.apply({**thing().to_json(), "spec": {"size": "huge"}})
        cluster.settle()
        assert reason(cluster, "it", "Ready") == "InvalidObject"
        cluster.patch(Thing, "it", {"spec": {"size": 3}})
        cluster.settle()
        assert cluster.ready(Thing, "it")


def test_a_pass_that_hangs_is_cancelled_and_reported() -> None:
    """Q5, F26: its pass ends at the limit, its condition says why, and the others converge."""

    async def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if it.name == "bad":
            await asyncio.Event().wait()
        return child(it, out, _ctx)

    with Harness(Things(act, pass_timeout=timedelta(minutes=1), workers=1)) as cluster:
        for name in ("a", "bad", "z"):
            cluster.apply(thing(name))
        cluster.advance(timedelta(minutes=2))

        assert cluster.ready(Thing, "a")
        assert cluster.ready(Thing, "z")
        assert reason(cluster, "bad") == "PassTimeout"
        condition = cluster.condition(Thing, "bad", "First")
        assert condition is not None
        assert condition.message == "the pass took longer than 0:01:00"
        metrics = cluster.manager.metrics
        assert metrics.timeouts.labels("thing").count >= 1
        assert metrics.reconcile_total.labels("thing", "error").count >= 1


def test_an_object_that_always_fails_affects_no_other() -> None:
    """Q5: this holds with a single worker."""

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        if it.name == "bad":
            raise KeyError("no such thing")
        return child(it, out, ctx)

    with Harness(Things(act, workers=1)) as cluster:
        for name in ("a", "bad", "z"):
            cluster.apply(thing(name))
        cluster.advance(timedelta(minutes=1))
        assert cluster.ready(Thing, "a")
        assert cluster.ready(Thing, "z")
        assert reason(cluster, "bad") == "InternalError"


def _nonsense(_it: Thing, _out: OutputSet, _ctx: Context) -> Any:
    return "done"


def _stray(_it: Thing, _out: OutputSet, _ctx: Context) -> Result:
    return Done(goto="third")


def _undeclared_output(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    out.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
    return Done()


async def _undeclared_read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
    await ctx.get(kinds.POD, "p")
    return Done()


async def _undeclared_live_read(_it: Thing, _out: OutputSet, ctx: Context) -> Result:
    await ctx.live.get(kinds.POD, "p")
    return Done()


def _generated_name(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
    out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "p-"}})
    return Done()


@pytest.mark.parametrize(
    ("act", "why", "text"),
    [
        (_nonsense, "NoResult", "Things.first returned 'done', which is not a result."),
        (_stray, "UndeclaredEdge", "Things.first went to 'third', which is not declared"),
        (_undeclared_output, "UndeclaredOutput", "Things.first put a Pod (v1) into its outputs"),
        (_undeclared_read, "UndeclaredRead", "Things.first read a Pod (v1), which Things lists"),
        (_undeclared_live_read, "UndeclaredRead", "Things.first read a Pod (v1), which Things"),
        (_generated_name, "InvalidOutput", "ConfigMap p-* uses metadata.generateName"),
    ],
    ids=["nonsense", "edge", "output", "read", "live-read", "generate-name"],
)
def test_an_undeclared_output_or_edge_is_not_retried(act: Any, why: str, text: str) -> None:
    """D3: the error on the object has names and fix, once, until the object changes."""
    runs: list[str] = []

    def counted(it: Thing, out: OutputSet, ctx: Context) -> Any:
        runs.append(it.name)
        return act(it, out, ctx)

    with Harness(Things(counted)) as cluster:
        cluster.apply(thing())
        cluster.advance(HOUR)
        condition = cluster.condition(Thing, "it", "First")
        assert condition is not None
        assert condition.reason == why
        assert condition.message.startswith(text)
        assert "fix: " in condition.message
        assert len(runs) == len(cluster.writes) == 1

        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        assert len(runs) == 2


def test_expected_refusals_leave_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """F08, F09: errors of the server are warnings, also where the object itself cannot be read."""
    trouble = iter([Lose(), Status(500), Status(500), Status(503)])

    def faults(request: HttpRequest) -> Any:
        return next(trouble, None) if "/things/it" in request.path else None

    caplog.set_level(logging.INFO)
    with Harness(Things(child), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert next(trouble, None) is None
    assert not [one for one in caplog.records if one.exc_info]
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_retry_after_of_the_server_is_obeyed() -> None:
    """F08: the queue waits for Retry-After, and the condition says why."""
    sent: list[float] = []

    def faults(request: HttpRequest) -> Any:
        if request.method == "POST" and request.path.endswith("/configmaps"):
            sent.append(cluster.loop.time())
            return Status(429, "TooManyRequests", retry_after=40) if len(sent) == 1 else None
        return None

    with Harness(Things(child), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=5))
        assert reason(cluster) == "ApiUnavailable"
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert sent[1] - sent[0] == 40


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        (86400.0, 60, 60),
        (1e300, 60, 60),
        (float("inf"), 60, 60),
        (float("nan"), 0.7, 1),
        (-5.0, 0.7, 1),
        (0.0, 0.7, 1),
    ],
)
def test_k8_a_retry_after_of_a_day_is_limited(asked: float, least: float, most: float) -> None:
    """A minute at most; an invalid Retry-After is a failure with its growing backoff."""
    sent: list[float] = []

    def faults(request: HttpRequest) -> Any:
        if request.method != "POST" or not request.path.endswith("/configmaps"):
            return None
        sent.append(cluster.loop.time())
        return Status(429, "TooManyRequests", retry_after=asked) if len(sent) == 1 else None

    with Harness(Things(child), faults=faults) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(hours=1))
        assert cluster.ready(Thing, "it")
        assert least <= sent[1] - sent[0] <= most


def test_ambiguous_write_is_decided_on_a_live_read() -> None:
    """A9: the create without a response is looked up, not repeated."""
    faults = iter([Lose()])

    def lose(request: HttpRequest) -> Any:
        return (
            next(faults, None)
            if request.path.endswith("/configmaps") and request.method == "POST"
            else None
        )

    with Harness(Things(child), faults=lose) as cluster:
        cluster.apply(thing())
        cluster.settle()
        asked = [str(one) for one in cluster.transport.log if "/configmaps" in one.request.path]
        assert "GET /api/v1/namespaces/default/configmaps/it 200" in asked
        assert len([one for one in asked if one.startswith("POST")]) == 1
        assert cluster.ready(Thing, "it")


def test_a_pass_that_is_cancelled_during_a_write_reads_before_the_next_write() -> None:
    """A9: the time limit was reached while the response was on its way."""
    hung: list[str] = []

    def hang(request: HttpRequest) -> Any:
        if request.method == "PATCH" and request.path.endswith("/configmaps/it") and not hung:
            hung.append(request.path)
            return Status(503, retry_after=4)  # the client waits in place, longer than a pass may
        return None

    with Harness(Things(child, pass_timeout=timedelta(seconds=2)), faults=hang) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        asked = [str(one) for one in cluster.transport.log]
        assert "GET /api/v1/namespaces/default/configmaps/it 200" in asked
        assert cluster.require(kinds.CONFIG_MAP, "it")["data"] == {"value": "b"}


def test_an_object_that_does_not_fit_its_model_acknowledges_a_reconcile_token() -> None:
    """The pass over it has finished, too."""
    with Harness(Things(child)) as cluster:
        cluster.settle()
        loosen(cluster)
        made = {**thing().to_json(), "spec": {"size": "huge"}}
        made["metadata"]["annotations"] = {REQUESTED_AT: "now"}
        cluster.apply(made)
        cluster.settle()
        (obj,) = cluster.list(Thing.KIND)
        assert obj["status"]["lastHandledReconcileAt"] == "now"


def test_a_finalizer_is_not_forgotten_while_its_kind_is_not_served() -> None:
    """A server says 404 of an object that exists, if it does not serve the kind for a moment."""
    answers = iter([Status(404, "NotFound")] * 2)

    def unserved(request: HttpRequest) -> Fault | None:
        removes = request.method == "PATCH" and request.path.endswith("/things/it")
        return next(answers, None) if removes and deleted else None

    deleted = False
    with Harness(FinalThings(), faults=unserved) as cluster:
        cluster.apply(thing())
        cluster.settle()
        deleted = True
        cluster.delete(Thing, "it")
        cluster.advance(HOUR)
        assert next(answers, None) is None, "both answers were given"
        assert cluster.get(Thing, "it") is None

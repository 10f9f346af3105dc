"""Logs, probes, and the checks before the first pass."""

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import UsageError
from myrmidon.fsm import Failed
from myrmidon.generate import crd
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.logs import JsonFormatter, Logger, TextFormatter
from myrmidon.runtime.process.health import parse_address
from myrmidon.testing import Fault, FaultyTransport, Harness, Refuse, Status, is_watch, run
from tests.runtime.things import Thing, Things, config_map, thing

# ------------------------------------------------------------------------------- logs


def record(caplog: pytest.LogCaptureFixture, **facts: Any) -> logging.LogRecord:
    """Build a log record with extra fields."""
    with caplog.at_level(logging.INFO, "myrmidon.test"):
        Logger("myrmidon.test", controller="web-app").having(object="ns/a").info("wrote", **facts)
    caplog.records[-1].created = 0.0
    return caplog.records[-1]


def test_text_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A constant message, then the extra fields; values with spaces are quoted."""
    line = TextFormatter().format(record(caplog, error="two words", count=3))
    assert line == (
        '00:00:00 INFO    wrote  controller=web-app object=ns/a error="two words" count=3'
    )


def test_json_lines(caplog: pytest.LogCaptureFixture) -> None:
    """One object in each line; values that are not JSON are logged as text."""
    ref = ObjectRef(kinds.CONFIG_MAP, "a", "ns")
    line = json.loads(JsonFormatter().format(record(caplog, ref=ref, count=3)))
    assert line == {
        "time": "1970-01-01T00:00:00+00:00",
        "level": "info",
        "logger": "myrmidon.test",
        "message": "wrote",
        "controller": "web-app",
        "object": "ns/a",
        "ref": "ConfigMap ns/a",
        "count": 3,
    }


def test_lines_of_a_pass_carry_its_facts(caplog: pytest.LogCaptureFixture) -> None:
    """Q3: controller, object, pass, state and cause."""
    caplog.set_level(logging.DEBUG, "myrmidon")
    with Harness(Things(lambda *_: Failed("Bad", "no", retry=False))) as cluster:
        cluster.apply(thing())
        cluster.settle()
    facts = {one.getMessage(): getattr(one, "facts", {}) for one in caplog.records}
    assert (
        facts["pass failed"].items()
        >= {
            "controller": "thing",
            "object": "default/it",
            "reconcile_id": 1,
            "state": "first",
            "reason": "Bad",
        }.items()
    )
    assert "self create of Thing" in str([str(one) for one in facts["pass begins"]["cause"]])


def test_what_a_state_raised_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failure that the state returns has no traceback."""
    for act in (lambda *_: dict[str, str]()["data"], lambda *_: Failed("Bad", KeyError("data"))):
        with Harness(Things(act)) as cluster:
            cluster.apply(thing())
            cluster.step()
    raised, reported = (one for one in caplog.records if one.getMessage() == "pass failed")

    assert raised.exc_info is not None
    assert isinstance(raised.exc_info[1], KeyError)
    assert getattr(raised, "facts", {})["error"].startswith("KeyError: 'data' (test_operating.py:")
    assert reported.exc_info is None


def test_every_line_says_what_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    """Lines of the caches have their kind."""
    caplog.set_level(logging.INFO, "myrmidon")
    with Harness(Things()) as cluster:
        cluster.settle()
    lines = [TextFormatter().format(one) for one in caplog.records if one.msg == "synced"]

    assert len(lines) == len(Things.managed_kinds) + 1
    assert any("synced  scope=ConfigMap objects=0" in line for line in lines)


# ----------------------------------------------------------------------------- probes


async def probe(manager: Manager, address: str, path: str) -> tuple[int, str]:
    """Return the response that a kubelet would get."""
    url = f"http://{manager.addresses[address]}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


def test_probes_and_metrics_over_http() -> None:
    """Readyz lists every cache and task; metrics are text; both can share an address."""

    async def main() -> list[tuple[int, str]]:
        server = ApiServer()
        assert not server.create(crd(Thing))
        address = "127.0.0.1:0"
        options = ManagerOptions(health_addr=address, metrics_addr=address)
        manager = Manager(options, transport=LocalTransport(server))
        manager.add(Things())
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_working()
            found = [await probe(manager, address, path) for path in PATHS]
            manager.stop()
        return found

    alive, ready, metrics = asyncio.run(main())
    assert alive == (200, "ok")
    assert ready[0] == 200
    lines = ready[1].splitlines()
    assert lines[-1] == "readyz check passed"
    assert "[+]cache ConfigMap ok" in lines
    tasks = (
        "caches",
        "lead",
        "lag",
        "feed of thing",
        "events of thing",
        "start of thing",
        "workers of thing",
    )
    assert [line for line in lines if "]task " in line] == [f"[+]task {one} ok" for one in tasks]
    assert len(lines) == len(Things.managed_kinds) + len(tasks) + 2
    assert metrics[0] == 200
    assert "controller_runtime_reconcile_total" in metrics[1]


PATHS = ("/healthz", "/readyz", "/metrics")


def test_stale_cache_is_not_ready() -> None:
    """K4: readyz says what is wrong, and recovers when the server responds again."""
    cut = [False]

    def faults(request: HttpRequest) -> Fault | None:
        if cut[0] and request.path == "/api/v1/configmaps":
            return Status(403, "Forbidden")
        return None

    with Harness(Things(), faults=faults) as cluster:
        cluster.settle()
        assert set(cluster.manager.checks().values()) == {None}
        cut[0] = True
        cluster.advance(timedelta(minutes=20))
        problem = cluster.manager.checks()["cache ConfigMap"]
        assert problem is not None
        assert problem.startswith("no message from the server for ")
        assert problem.endswith("s: 403 Forbidden: injected")
        cut[0] = False
        cluster.advance(timedelta(minutes=2))
        assert set(cluster.manager.checks().values()) == {None}


def test_a_staleness_limit_below_the_silence_of_a_watch_is_refused() -> None:
    """The error is raised when the options are created."""
    with pytest.raises(UsageError, match=r"stale_after is 60 s.*\n  fix: make stale_after longer"):
        ManagerOptions(stale_after=timedelta(minutes=1))


@pytest.mark.parametrize("address", ["8080", "host:", ":eighty", ":70000"])
def test_wrong_address(address: str) -> None:
    """The error is one sentence with a fix."""
    with pytest.raises(UsageError, match=r"fix: write :8080 or 127\.0\.0\.1:8080"):
        parse_address(address)


# -------------------------------------------------------------------------- preflight


def told(fault: Fault | None, *, with_kind: bool = True) -> str:
    """Return the error with which the manager refuses to start."""

    async def main() -> None:
        server = ApiServer()
        if with_kind:
            assert not server.create(crd(Thing))
        transport = FaultyTransport(
            LocalTransport(server), lambda request: None if is_watch(request) else fault
        )
        manager = Manager(ManagerOptions(wait_for_kinds=False), transport=transport)
        manager.add(Things())
        await manager.run()

    with pytest.raises(UsageError) as caught:
        run(main())
    return str(caught.value)


def test_preflight_says_what_is_missing() -> None:
    """Before the first pass, in one sentence, with a fix."""
    assert told(None, with_kind=False).startswith(
        "the cluster does not know the kind Thing (test.myrmidon.dev/v1), which Things needs.\n  fix: "
    )
    assert told(Status(403, "Forbidden")).startswith(
        "Things may not list things: injected.\n  fix: let an administrator apply the role"
    )
    assert told(Status(401, "Unauthorized")).startswith(
        "the cluster does not accept the credentials: injected.\n  fix: log in again"
    )
    assert told(Refuse()).startswith("no cluster reachable: injected before GET")
    assert told(Status(503, "ServiceUnavailable")).startswith(
        "the API server is not available: 503 ServiceUnavailable: injected.\n  fix: wait until it is up"
    )


def test_triggers_of_children_need_no_parent() -> None:
    """A child of another kind of parent causes no pass and no error."""
    owner = {"apiVersion": "v1", "kind": "Thing", "name": "it", "uid": "1", "controller": True}
    with Harness(Things(), actors=()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        before = cluster.manager.metrics.reconcile_total.labels("thing", "success").count
        cluster.apply(config_map("a", ownerReferences=[owner]))
        cluster.settle()
        after = cluster.manager.metrics.reconcile_total.labels("thing", "success").count
        assert after == before

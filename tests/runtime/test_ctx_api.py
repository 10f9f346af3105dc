"""``ctx.api``: the API classes of kubernetes-asyncio inside a state, over our connection."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from kubernetes_asyncio.client import (
    ApiException,
    AppsV1Api,
    CoreV1Api,
    V1ConfigMap,
    V1Namespace,
    V1ObjectMeta,
)
from kubernetes_asyncio.watch import Watch

from myrmidon.api import HttpRequest
from myrmidon.api.objects import kinds
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import LeadershipLostError, ProgrammingError, UsageError
from myrmidon.fsm import Controller, Done, Result, state
from myrmidon.fsm.context import Context
from myrmidon.io.client import Client
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.kubernetes_asyncio import api_client
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run
from myrmidon.testing.faults.transport import Fault, Status
from tests.runtime.things import Things, thing

Act = Callable[[Any], Awaitable[Any]]


def acted(act: Act, **harness: Any) -> tuple[Any, Harness]:
    """Run a function of the API client inside a state; return its result."""
    results: list[Any] = []

    async def first(_thing: Any, _out: OutputSet, ctx: Context) -> Result:
        results.append(await act(ctx.api))
        return Done()

    with Harness(Things(first), **harness) as cluster:
        cluster.apply(thing())
        cluster.settle()
        return results, cluster


def test_objects_are_listed_created_patched_and_deleted() -> None:
    """Every verb is sent with its content type; responses are models of the library."""

    async def act(api: Any) -> Any:
        core = CoreV1Api(api)
        body = V1ConfigMap(metadata=V1ObjectMeta(name="made"), data={"a": "1"})
        made = await core.create_namespaced_config_map("default", body)
        await core.patch_namespaced_config_map("made", "default", {"data": {"b": "2"}})
        operations = [{"op": "add", "path": "/data/c", "value": "3"}]
        patched = await core.patch_namespaced_config_map("made", "default", operations)
        selector = "metadata.name=made"
        listed = await core.list_namespaced_config_map("default", field_selector=selector)
        await core.delete_namespaced_config_map("made", "default")
        return made, patched.data, [one.metadata.name for one in listed.items]

    ((made, data, names),), cluster = acted(act)
    assert isinstance(made, V1ConfigMap)
    assert data == {"a": "1", "b": "2", "c": "3"}
    assert names == ["made"]
    assert [one.request.method for one in cluster.writes][:4] == [
        "POST",
        "PATCH",
        "PATCH",
        "DELETE",
    ]


def test_a_refusal_is_an_exception_of_the_library() -> None:
    """It has the status and the body that the server sent."""

    async def act(api: Any) -> Any:
        with pytest.raises(ApiException) as error:
            await AppsV1Api(api).read_namespaced_deployment("none", "default")
        return error.value.status, error.value.reason, "not found" in error.value.body

    results, _ = acted(act)
    assert results == [(404, "404", True)]


def test_faults_and_virtual_time_reach_it() -> None:
    """An overloaded server is asked again after its Retry-After, in virtual time."""
    seen: list[str] = []

    def faults(request: HttpRequest) -> Fault | None:
        if request.path == "/api/v1/namespaces/default/pods" and request.query == ():
            seen.append(request.path)
            return Status(429) if len(seen) == 1 else None
        return None

    async def act(api: Any) -> Any:
        return len((await CoreV1Api(api).list_namespaced_pod("default")).items)

    results, _ = acted(act, faults=faults)
    assert results == [0]
    assert len(seen) == 2


def test_a_watch_reads_line_by_line() -> None:
    """The library's Watch over our stream."""

    async def act(api: Any) -> Any:
        async with Watch() as watch:
            events = watch.stream(CoreV1Api(api).list_namespace, timeout_seconds=1)
            return [(one["type"], one["object"].metadata.name) async for one in events]

    ((found,), _) = acted(act)
    assert ("ADDED", "default") in found


def test_q6_a_write_needs_the_lease() -> None:
    """It passes the fence, like every write of a pass."""
    options = ManagerOptions(seed=0, leader_election=True, leader_election_namespace="default")

    async def act(api: Any) -> Any:
        body = V1ConfigMap(metadata=V1ObjectMeta(name="made"))
        return (await CoreV1Api(api).create_namespaced_config_map("default", body)).metadata.name

    results, cluster = acted(act, options=options)
    assert results == ["made"]
    assert "/leases" in "".join(one.request.path for one in cluster.writes)


def test_its_writes_are_not_own_writes() -> None:
    """A child that a state changes through it wakes the object, as any other change would."""
    runs: list[int] = []

    class Spaces(Controller[V1Namespace]):
        @state(initial=True)
        async def noted(self, space: V1Namespace, _out: OutputSet, ctx: Context) -> Result:
            runs.append(1)
            labels = space.metadata.labels or {}
            if space.metadata.name == "shop" and "seen" not in labels:
                change = {"metadata": {"labels": {"seen": "yes"}}}
                await CoreV1Api(ctx.api).patch_namespace("shop", change)
            return Done()

    with Harness(Spaces()) as cluster:
        cluster.settle()
        before = len(runs)
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        cluster.advance(timedelta(seconds=1))
        assert cluster.require(kinds.NAMESPACE, "shop")["metadata"]["labels"]["seen"] == "yes"
        assert len(runs) - before == 2


def test_the_library_is_not_imported_unless_it_is_used() -> None:
    """Its models cost a third of a second and 40 MB."""
    code = (
        "import sys, myrmidon; [getattr(myrmidon, name) for name in myrmidon.__all__]; "
        "import myrmidon.testing, myrmidon.cli.main; "
        "sys.exit(any(name.startswith('kubernetes') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_q6_a_write_without_the_lease_is_not_sent() -> None:
    """Reads need no lease."""
    server = ApiServer()

    def permit() -> float:
        raise LeadershipLostError("another replica leads")

    async def act() -> int:
        core = CoreV1Api(api_client(Client(FencedTransport(LocalTransport(server), permit))))
        with pytest.raises(LeadershipLostError):
            await core.delete_namespace("default")
        return len((await core.list_namespace()).items)

    assert run(act()) > 0


def test_form_data_is_refused() -> None:
    """The error has the fix."""

    async def act() -> None:
        api = api_client(Client(LocalTransport(ApiServer())))
        await api.rest_client.request("POST", "http://x/a", post_params=[("a", "b")])

    with pytest.raises(ProgrammingError, match="form data"):
        run(act())


def test_a_refused_watch_is_an_exception_of_the_library() -> None:
    """Like any other refused request."""

    async def act(api: Any) -> Any:
        with pytest.raises(ApiException) as error:
            await CoreV1Api(api).list_namespace(
                watch=True, field_selector="no.such=1", _preload_content=False
            )
        return error.value.status

    results, _ = acted(act)
    assert results == [400]


def test_without_the_library_the_fix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is optional."""
    monkeypatch.setitem(sys.modules, "myrmidon.io.kubernetes_asyncio", None)

    said: list[str] = []

    async def first(_thing: Any, _out: OutputSet, ctx: Context) -> Result:
        with pytest.raises(UsageError) as error:
            _ = ctx.api
        said.append(str(error.value))
        return Done()

    with Harness(Things(first)) as cluster:
        cluster.apply(thing())
        cluster.settle()
    assert said[0] == (
        "ctx.api needs the package kubernetes-asyncio, which is not installed.\n"
        "  fix: pip install kubernetes-asyncio"
    )

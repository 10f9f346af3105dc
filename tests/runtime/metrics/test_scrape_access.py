"""``/metrics`` with ``metrics_auth``: which scrapes are allowed, and what each refusal says."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.generate import crd
from myrmidon.generate.manifests.rbac import binding, lease_role, metrics_roles, roles
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.runtime.leader.lease_record import default_lease_name
from myrmidon.runtime.metrics.scrape_access import ScrapeAccess
from myrmidon.testing import Fault, FaultyTransport, Refuse, VirtualClock, VirtualTimeLoop, run
from tests.runtime.things import Thing, Things

USERS = {
    "p": User("prometheus", ("monitoring",), "1"),
    "j": User("jane"),
    "c": User("system:serviceaccount:default:things", ("system:authenticated",)),
}
LEASE = default_lease_name([(Things.name, Things.kind().group)])


def server() -> ApiServer:
    """Return a server on which the group ``monitoring`` may scrape, and ``things`` may check that."""
    made = ApiServer(users=USERS, rbac=True)
    checks, reads = metrics_roles("things")
    reader = binding(reads, "x", "default")
    reader["subjects"] = [
        {"kind": "Group", "name": "monitoring", "apiGroup": "rbac.authorization.k8s.io"}
    ]
    lease = lease_role("things", "default", LEASE)
    own = [checks, lease, *roles([Things], "things")]
    for manifest in (crd(Thing), reads, reader, *own):
        assert made.create(manifest) == ""
    for role in own:
        assert made.create(binding(role, "things", "default")) == ""
    return made


@pytest.mark.parametrize(
    ("authorization", "status", "said"),
    [
        ("", 401, "a bearer token is needed"),
        ("Basic cDpw", 401, "a bearer token is needed"),
        ("Bearer ", 401, "a bearer token is needed"),
        ("Bearer wrong", 401, "the token is not valid"),
        ("Bearer j", 403, "jane may not get /metrics"),
        ("Bearer p", 200, "workqueue_depth"),
        ("bearer p", 200, "workqueue_depth"),
    ],
)
def test_only_users_who_may_get_the_path_read_the_metrics(
    authorization: str, status: int, said: str
) -> None:
    """The status and the text of the answer say why a scrape was refused."""

    async def scrape() -> tuple[int, str]:
        options = ManagerOptions(metrics_addr="127.0.0.1:0", metrics_auth=True)
        manager = Manager(options, transport=LocalTransport(server(), token="c"))
        manager.add(Things())
        headers = {"Authorization": authorization} if authorization else {}
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            await manager.wait_working()
            url = f"http://{manager.addresses['127.0.0.1:0']}/metrics"
            async with (
                aiohttp.ClientSession() as session,
                session.get(url, headers=headers) as answer,
            ):
                found = answer.status, await answer.text()
            manager.stop()
        return found

    found, text = asyncio.run(scrape())
    assert found == status
    assert said in text


def test_a_replica_that_stands_by_checks_scrapes_too() -> None:
    """The fence of the leader election would refuse its reviews, which are POST requests."""

    async def scrape() -> int:
        options = ManagerOptions(
            metrics_addr="127.0.0.1:0", metrics_auth=True, leader_election=True
        )
        manager = Manager(options, transport=LocalTransport(server(), token="c"))
        manager.add(Things())
        async with asyncio.TaskGroup() as group:
            group.create_task(manager.run())
            clock = LoopClock()
            while not manager.addresses:
                await clock.sleep(0)
            assert not manager.is_idle
            url = f"http://{manager.addresses['127.0.0.1:0']}/metrics"
            headers = {"Authorization": "Bearer p"}
            async with (
                aiohttp.ClientSession() as session,
                session.get(url, headers=headers) as answer,
            ):
                status = answer.status
            manager.stop()
        return status

    assert asyncio.run(scrape()) == 200


@asynccontextmanager
async def checking(
    faults: Callable[[HttpRequest], Fault | None] = lambda _request: None,
) -> AsyncIterator[tuple[ScrapeAccess, list[str]]]:
    """Yield a check in virtual time, and the paths that it asks for."""
    asked: list[str] = []
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    clock = VirtualClock(loop)

    def noted(request: HttpRequest) -> Fault | None:
        asked.append(request.path.rpartition("/")[2])
        return faults(request)

    transport = FaultyTransport(LocalTransport(server(), token="c"), noted, clock=clock)
    yield ScrapeAccess(Client(transport, clock=clock), clock), asked


def test_answers_are_kept_for_a_minute_and_refusals_for_ten_seconds() -> None:
    """Frequent scrapes do not cost two requests each."""

    async def scrapes() -> None:
        async with checking() as (access, asked):
            for _ in range(5):
                assert await access.refusal("Bearer p") is None
            assert asked == ["tokenreviews", "subjectaccessreviews"]
            await access._clock.sleep(59)
            assert await access.refusal("Bearer p") is None
            assert len(asked) == 2
            await access._clock.sleep(2)
            assert await access.refusal("Bearer p") is None
            assert len(asked) == 4
            for _ in range(3):
                assert (await access.refusal("Bearer x") or (0,))[0] == 401
            assert len(asked) == 5
            await access._clock.sleep(11)
            await access.refusal("Bearer x")
            assert len(asked) == 6

    run(scrapes())


def test_many_tokens_take_bounded_memory() -> None:
    """The oldest results are dropped."""

    async def scrapes() -> None:
        async with checking() as (access, _):
            for number in range(300):
                await access.refusal(f"Bearer {number}")
            assert len(access._known) <= 100

    run(scrapes())


def test_without_the_server_no_scrape_is_allowed() -> None:
    """The response is 503 and is not kept: the next scrape asks again."""
    down = True

    def faults(_request: HttpRequest) -> Fault | None:
        return Refuse() if down else None

    async def scrapes() -> None:
        nonlocal down
        async with checking(faults) as (access, _):
            refusal = await access.refusal("Bearer p")
            assert refusal is not None
            assert refusal.status == 503
            down = False
            assert await access.refusal("Bearer p") is None

    run(scrapes())


def test_the_roles_are_generated() -> None:
    """One to check scrapes, bound to the program, and one to scrape, which the user binds."""
    checks, reads = metrics_roles("shop")
    rules: list[Json] = checks["rules"]
    assert [rule["resources"] for rule in rules] == [["tokenreviews"], ["subjectaccessreviews"]]
    assert reads["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]

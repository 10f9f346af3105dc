"""Storage migration on the embedded server: nothing is lost, and it can be interrupted anywhere."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from myrmidon import ManagerOptions
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import MyrmidonError, ServerError, TooManyRequestsError
from myrmidon.generate.schema.definitions import crd
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.startup.storage_migration import (
    MigrationOutcome,
    StorageMigrator,
    keep_migrated,
)
from myrmidon.testing import Harness, run
from myrmidon.webhooks.versions import Converter
from myrmidon.webhooks.versions.migration import PROGRESS
from tests.testing.harness.test_versions import Apps
from tests.versions.apps import GROUP, App, AppV1Beta1, spoke

NAME = f"apps.{GROUP}"
REF = ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, NAME)
Meddle = Callable[[HttpRequest], None]


def at_storage(version: str) -> Json:
    """Return the definition with another storage version."""
    made = crd(App)
    for each in made["spec"]["versions"]:
        each["storage"] = each["name"] == version
    return made


class World:
    """A server with objects that are stored in the old version, and a client that meddles."""

    def __init__(self, count: int, *, rbac: bool = False, **specs: Any) -> None:
        self.server = ApiServer(rbac=rbac)
        self.server.convert_with(NAME, Converter([App]).review)
        assert self.server.create(at_storage("v1beta1")) == ""
        for number in range(count):
            made = spoke(f"app-{number:03}", note=f"n{number}", size=number, **specs)
            assert self.server.create(made) == ""
        transport = LocalTransport(self.server)
        self.requests: list[HttpRequest] = []
        self.meddle: Meddle = lambda _: None
        world = self

        class Meddling:
            async def send(self, request: HttpRequest, **options: Any) -> HttpResponse:
                world.requests.append(request)
                world.meddle(request)
                return await transport.send(request, **options)

            stream, close = transport.stream, transport.close

        self.client = Client(Meddling(), clock=LoopClock())

    async def begin(self) -> None:
        """Make v1 the storage version."""
        definition = await self.client.get(REF)
        await self.client.update(REF.kind, {**definition, "spec": at_storage("v1")["spec"]})
        self.requests.clear()

    def migrator(self, **options: Any) -> StorageMigrator:
        """Return a migrator with small pages."""
        return StorageMigrator(self.client, LoopClock(), **{"page_size": 4, **options})

    def stored(self) -> set[str]:
        """Return the versions in which objects are stored."""
        return {
            record.value["apiVersion"].rpartition("/")[2] for record in self.server.store.scan(NAME)
        }

    async def all(self, cls: Any) -> list[Json]:
        """Return all objects in a version, without what a write changes."""
        found = await self.client.list(cls.KIND)
        for obj in found:
            del obj["metadata"]["resourceVersion"]
        return found


@pytest.mark.law("V3")
def test_all_objects_are_stored_in_the_storage_version_and_keep_each_field() -> None:
    """Also those that only the old version has; then the definition says so."""

    async def story() -> None:
        world = World(10)
        before = await world.all(AppV1Beta1), await world.all(App)
        await world.begin()
        told: list[str] = []
        migrator = world.migrator(report=lambda _, progress, left: told.append(progress.told(left)))

        outcome = await migrator.migrate(NAME)

        assert world.stored() == {"v1"}
        assert (await world.all(AppV1Beta1), await world.all(App)) == before
        definition = await world.client.get(REF)
        assert definition["status"]["storedVersions"] == ["v1"]
        assert PROGRESS not in definition["metadata"].get("annotations", {})
        assert outcome.is_finished
        assert told == [
            "4 of 10 objects seen, 4 rewritten",
            "8 of 10 objects seen, 8 rewritten",
            "10 of 10 objects seen, 10 rewritten",
        ]
        assert await migrator.migrate(NAME) == MigrationOutcome(NAME)

    run(story())


@pytest.mark.law("V3")
def test_edits_of_other_writers_are_kept() -> None:
    """Each object is edited just before it is migrated; those need no second write."""

    async def story() -> None:
        world = World(6)
        await world.begin()
        edits = iter(range(6))

        def edit(request: HttpRequest) -> None:
            if request.method == "PATCH" and "/apps/" in request.path and request.body == b"{}":
                body = {"spec": {"replicas": 100 + next(edits)}}
                done = world.server.request(
                    "PATCH", request.path, body, content_type="application/merge-patch+json"
                )
                assert done.status == 200

        world.meddle = edit
        outcome = await world.migrator().migrate(NAME)

        assert [obj["spec"]["replicas"] for obj in await world.all(App)] == list(range(100, 106))
        assert [obj["spec"]["note"] for obj in await world.all(AppV1Beta1)] == [
            f"n{n}" for n in range(6)
        ]
        assert outcome.is_finished
        assert world.stored() == {"v1"}

    run(story())


@pytest.mark.law("V3")
@pytest.mark.parametrize("failing", range(1, 16))
def test_an_interrupted_migration_continues(failing: int) -> None:
    """Whichever request fails: nothing is lost, and pages that are done are not listed again."""

    async def story() -> None:
        world = World(6)
        before = await world.all(AppV1Beta1)
        await world.begin()

        def fail(_: HttpRequest) -> None:
            if len(world.requests) == failing:
                raise ServerError(500, "InternalError", "the server is restarting")

        world.meddle = fail
        with pytest.raises(MyrmidonError):
            await world.migrator(page_size=2).migrate(NAME)
        definition = await world.client.get(REF)
        resumed = "token" in definition["metadata"].get("annotations", {}).get(PROGRESS, "")
        world.requests.clear()
        world.meddle = lambda _: None
        assert (await world.migrator(page_size=2).migrate(NAME)).is_finished
        lists = [one for one in world.requests if dict(one.query).get("limit")]
        assert len(lists) < 3 or not resumed
        definition = await world.client.get(REF)
        assert PROGRESS not in definition["metadata"].get("annotations", {})
        assert world.stored() == {"v1"}
        assert await world.all(AppV1Beta1) == before

    run(story())


def test_a_token_that_has_expired_begins_the_list_again() -> None:
    """Objects that are done are not written a second time."""

    async def story() -> None:
        world = World(6)
        await world.begin()

        def forget(request: HttpRequest) -> None:
            if "continue" in dict(request.query) and world.server.store.revision:
                world.meddle = lambda _: None
                world.server.store.compact(world.server.store.revision)

        world.meddle = forget
        outcome = await world.migrator(page_size=2).migrate(NAME)
        assert outcome.progress is not None
        assert (outcome.progress.seen, outcome.is_finished) == (6, True)
        assert outcome.progress.rewritten == 4, "two of them before the list began again"

    run(story())


def test_a_server_that_asks_for_patience_gets_it() -> None:
    """It does while it fills the caches of a changed definition."""

    async def story() -> None:
        world = World(2)
        await world.begin()
        busy = iter(range(40))

        def refuse(request: HttpRequest) -> None:
            if request.path.startswith(f"/apis/{GROUP}/") and next(busy, None) is not None:
                raise TooManyRequestsError(429, "TooManyRequests", "storage is (re)initializing")

        world.meddle = refuse
        assert (await world.migrator().migrate(NAME)).is_finished

    run(story())


def test_objects_that_are_gone_are_not_missed() -> None:
    """A delete between the list and the patch."""

    async def story() -> None:
        world = World(3)
        await world.begin()

        def delete(request: HttpRequest) -> None:
            if request.path.endswith("app-001"):
                world.server.request("DELETE", request.path)

        world.meddle = delete
        outcome = await world.migrator().migrate(NAME)
        assert (outcome.is_finished, outcome.failures) == (True, ())

    run(story())


@pytest.mark.law("V2")
def test_one_object_that_cannot_be_converted_does_not_stop_the_others() -> None:
    """It is named, and the definition keeps the old version until it is corrected."""

    async def story() -> None:
        world = World(3)
        assert world.server.create(spoke("bad", image="unconvertible")) == ""
        await world.begin()

        outcome = await world.migrator(page_size=2).migrate(NAME)

        assert not outcome.is_finished
        assert len(outcome.failures) == 1
        assert "App default/bad" in outcome.failures[0]
        assert "this image cannot be converted" in outcome.failures[0]
        definition = await world.client.get(REF)
        assert definition["status"]["storedVersions"] == ["v1beta1", "v1"]
        assert (
            len(
                [
                    one
                    for one in world.server.store.scan(NAME)
                    if one.value["apiVersion"].endswith("/v1")
                ]
            )
            == 3
        )
        ref = ObjectRef(AppV1Beta1.KIND, "bad", "default")
        await world.client.delete(ref)
        assert (await world.migrator().migrate(NAME)).is_finished

    run(story())


@pytest.mark.law("V3")
def test_a_definition_that_changes_meanwhile_is_migrated_again() -> None:
    """The version that is stored now must not be taken from the list of stored versions."""

    async def story() -> None:
        world = World(3)
        await world.begin()

        def change(request: HttpRequest) -> None:
            if request.path.endswith("app-002"):
                world.meddle = lambda _: None
                path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
                body = {"spec": {"versions": at_storage("v1beta1")["spec"]["versions"]}}
                world.server.request(
                    "PATCH", path, body, content_type="application/merge-patch+json"
                )
                world.server.settle()

        world.meddle = change
        outcome = await world.migrator().migrate(NAME)
        assert not outcome.is_finished
        definition = await world.client.get(REF)
        assert definition["status"]["storedVersions"] == ["v1beta1", "v1"]
        assert (await world.migrator().migrate(NAME)).is_finished
        assert world.stored() == {"v1beta1"}

    run(story())


def test_objects_are_written_no_faster_than_the_rate() -> None:
    """In virtual time, to the second."""

    async def story() -> None:
        world, clock = World(11), LoopClock()
        await world.begin()
        began = clock.monotonic()
        await world.migrator(per_second=2.0).migrate(NAME)
        assert clock.monotonic() - began == pytest.approx(5.0)

    run(story())


def test_the_manager_migrates_in_the_background(caplog: pytest.LogCaptureFixture) -> None:
    """As soon as it leads; a failure is reported and tried again."""
    caplog.set_level(logging.INFO)
    options = ManagerOptions(seed=0, migrate_storage=True)
    with Harness(Apps(), options=options) as cluster:
        cluster.settle()

    async def story() -> None:
        world = World(2)
        await world.begin()
        failing = iter((True, False))

        def fail(request: HttpRequest) -> None:
            if (
                request.method == "GET"
                and "customresourcedefinitions" in request.path
                and next(failing, False)
            ):
                raise ServerError(500, "InternalError", "the server is restarting")

        world.meddle = fail
        await keep_migrated(world.client, [crd(App)], LoopClock(), Logger("test"))
        assert world.stored() == {"v1"}

    run(story())
    said = [record.message for record in caplog.records]
    assert "storage migration interrupted" in said
    assert "storage migration finished" in said

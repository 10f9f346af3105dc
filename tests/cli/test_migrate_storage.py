"""``myrmidon migrate-storage``: what it prints, and its exit status."""

import argparse
import asyncio

import pytest

from myrmidon.cli.commands import migrate_storage
from myrmidon.cli.main import main
from myrmidon.errors import UsageError
from myrmidon.testing import run
from tests.runtime.test_storage_migration import NAME, World
from tests.versions.apps import spoke


def test_progress_and_the_end_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """And that there is nothing to do, the second time."""

    async def story() -> None:
        world = World(3)
        await world.begin()
        for _ in range(2):
            assert (await migrate_storage.migrate(world.client, NAME, 50.0)).is_finished

    run(story())
    assert capsys.readouterr().out.splitlines() == [
        f"{NAME} to v1: 3 of 3 objects seen, 3 rewritten",
        f"{NAME}: done, 3 objects seen, 3 rewritten",
        f"{NAME}: all objects are stored in the storage version",
    ]


def test_objects_that_cannot_be_migrated_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The others are migrated."""

    async def story() -> None:
        world = World(1)
        assert world.server.create(spoke("bad", image="unconvertible")) == ""
        await world.begin()
        assert not (await migrate_storage.migrate(world.client, NAME, 50.0)).is_finished

    run(story())
    lines = capsys.readouterr().out.splitlines()
    assert "not migrated: App.versions.example.com default/bad" in lines[1]
    assert lines[2] == f"{NAME}: not finished, 2 objects seen, 1 rewritten, 1 failed; run it again"


def test_a_definition_that_is_not_installed_is_told() -> None:
    """With the command that installs it."""

    async def story() -> None:
        world = World(0)
        await migrate_storage.migrate(world.client, "others.example.com", 50.0)

    with pytest.raises(UsageError, match=r"the cluster has no definition others\.example\.com"):
        run(story())


@pytest.mark.parametrize("rate", ["0", "-1", "fast", "nan", "inf"])
def test_a_rate_is_a_number_above_0(rate: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is a wrong argument."""
    with pytest.raises(SystemExit) as caught:
        main(["migrate-storage", "examples/web_app", "--rate", rate])
    assert caught.value.code == 2
    assert "is not a number of objects above 0" in capsys.readouterr().err


def test_the_exit_status_says_whether_all_kinds_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 if they are."""
    world = World(0)

    class Reading:
        async def __aenter__(self) -> object:
            return world.client, None

        async def __aexit__(self, *_: object) -> None:
            """Do nothing."""

    monkeypatch.setattr(migrate_storage, "reading", lambda _: Reading())
    args = argparse.Namespace(rate=50.0)

    async def story() -> None:
        await world.begin()
        assert await migrate_storage._run(args, [NAME]) == 0

    asyncio.run(story())

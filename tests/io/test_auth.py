"""Where Authorization headers come from."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from myrmidon.errors import UnreachableError
from myrmidon.io.auth import Fixed, Plugin, TokenFile


def test_a_rotated_token_file_is_noticed(tmp_path: Path) -> None:
    """At most a minute late, and at once when the old token is refused."""
    path = tmp_path / "token"
    path.write_text("one\n")
    tokens = TokenFile(path)

    async def main() -> list[str]:
        seen = [await tokens.authorization(0.0)]
        path.write_text("two")
        seen.append(await tokens.authorization(59.0))
        seen.append(await tokens.authorization(60.0))
        path.write_text("three")
        assert await tokens.renew("Bearer two")
        seen.append(await tokens.authorization(61.0))
        assert not await tokens.renew("Bearer three")
        return seen

    assert asyncio.run(main()) == ["Bearer one", "Bearer one", "Bearer two", "Bearer three"]


def test_a_token_file_that_vanishes_for_a_moment_is_survived(tmp_path: Path) -> None:
    """Rotation is not always atomic, and the old token may still do."""
    path = tmp_path / "token"
    path.write_text("one")
    tokens = TokenFile(path)

    async def main() -> None:
        await tokens.authorization(0.0)
        path.write_text("")
        assert await tokens.authorization(100.0) == "Bearer one"
        path.unlink()
        assert await tokens.authorization(200.0) == "Bearer one"
        with pytest.raises(UnreachableError):
            await TokenFile(path).authorization(0.0)

    asyncio.run(main())


def test_what_never_changes_cannot_be_renewed() -> None:
    """And does not show itself in logs."""
    fixed = Fixed("Bearer secret")
    assert asyncio.run(fixed.authorization(0.0)) == "Bearer secret"
    assert not asyncio.run(fixed.renew("Bearer secret"))
    assert "secret" not in repr(fixed)


class Loader:
    """As much of kubernetes-asyncio's loader as is used."""

    def __init__(self) -> None:
        self.runs = 0
        self.fails = False

    async def load_and_set(self, target: Any) -> None:
        """Run the plugin."""
        if self.fails:
            raise OSError("no such program")
        self.runs += 1
        await asyncio.sleep(0)  # noqa: TID251  gives way, as a program would
        target.api_key["BearerToken"] = f"Bearer {self.runs}"


def test_a_plugin_is_run_once_for_many_requests() -> None:
    """A hundred requests refused at once must not start a hundred programs."""
    loader = Loader()
    plugin = Plugin(loader, "Bearer 0")

    async def main() -> None:
        assert await plugin.authorization(0.0) == "Bearer 0"
        async with asyncio.TaskGroup() as group:
            renewals = [group.create_task(plugin.renew("Bearer 0")) for _ in range(100)]
        assert all(task.result() for task in renewals)
        assert loader.runs == 1
        async with asyncio.TaskGroup() as group:
            for _ in range(100):
                group.create_task(plugin.authorization(100.0))
        assert await plugin.authorization(101.0) == "Bearer 2"
        assert loader.runs == 2

    asyncio.run(main())


def test_a_plugin_that_fails_sends_nothing() -> None:
    """It is tried again with the next request, like a server that is down."""
    loader = Loader()
    loader.fails = True
    plugin = Plugin(loader, "Bearer 0")
    with pytest.raises(UnreachableError, match="no such program"):
        asyncio.run(plugin.renew("Bearer 0"))

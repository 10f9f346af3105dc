"""Where Authorization headers come from."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from traceback import format_exception
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.errors import UnreachableError
from myrmidon.io.access.credentials import Fixed, Plugin, Renewable, TokenFile, bearer, is_one_word


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
    """Rotation is not always atomic, and the old token may still be valid."""
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


BROKEN = [
    b"secret\nsecret\n",
    b"secret secret",
    b"secret\xff",
    b"secr\xc3\xa9t",
    b"secret\x00",
    b"",
    b" \n",
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_token_file_is_named_and_its_content_is_not(
    tmp_path: Path, content: bytes
) -> None:
    """The request counts as not sent, so it is retried; it works when the file is repaired."""
    path = tmp_path / "token"
    path.write_bytes(content)
    tokens = TokenFile(path)

    async def main() -> None:
        for _ in range(2):
            with pytest.raises(UnreachableError, match=str(path)) as caught:
                await tokens.authorization(0.0)
            shown = "".join(format_exception(caught.value)) + repr(caught.value.__context__)
            assert "secr" not in shown
        path.write_text("good\n")
        assert await tokens.authorization(0.0) == "Bearer good"
        path.write_bytes(content)
        assert await tokens.authorization(100.0) == "Bearer good", "it may still be accepted"
        with pytest.raises(UnreachableError, match=str(path)):
            await tokens.renew("Bearer good")
        path.write_text("better")
        assert await tokens.renew("Bearer good")

    asyncio.run(main())


@given(st.text())
def test_a_token_is_one_word_or_refused(token: str) -> None:
    """From a file or a program: the header is one line, and an error does not show the token."""
    if not is_one_word(token):
        with pytest.raises(
            ValueError, match=r"^the token has a space, a line break or a character"
        ):
            bearer(token)
        return
    header = bearer(token)
    assert header == f"Bearer {token}"
    assert header.encode("ascii").split(b" ") == [b"Bearer", token.encode("ascii")]
    assert not any(byte < 32 or byte == 127 for byte in header.encode())


def test_an_expiry_in_the_year_1_has_passed() -> None:
    """Go writes a missing time as the first of January of the year 1."""

    class Old(Renewable):
        expires_at = datetime.min.replace(tzinfo=UTC)

    assert Old().is_over(timedelta(seconds=30))


def test_a_static_token_cannot_be_renewed() -> None:
    """Its repr does not show it."""
    fixed = Fixed("Bearer secret")
    assert asyncio.run(fixed.authorization(0.0)) == "Bearer secret"
    assert not asyncio.run(fixed.renew("Bearer secret"))
    assert "secret" not in repr(fixed)


class Loader:
    """The part of kubernetes-asyncio's loader that is used."""

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
    """A hundred requests that are refused at once must not start a hundred programs."""
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
    """It is run again with the next request, as after a failure of the server."""
    loader = Loader()
    loader.fails = True
    plugin = Plugin(loader, "Bearer 0")
    with pytest.raises(UnreachableError, match="no such program"):
        asyncio.run(plugin.renew("Bearer 0"))

"""kopf's 13-hooks: what happens before the start, after the end, and at a probe.

A program of one's own does it around ``manager.run()``, in plain Python.  Credentials come from the
kubeconfig (exec plugins and token files included) or from a transport that the program builds.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from myrmidon import Controller, Done, Manager, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Uses a connection that is opened before the first pass and closed after the last one."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    @state(initial=True)
    def served(self, example: Example, out: OutputSet) -> Result:
        """The object was handled with the connection."""
        self.log.append(f"served {example.name}")
        return Done()


@asynccontextmanager
async def connection() -> AsyncIterator[list[str]]:
    """Open the connection, and close it in any case."""
    log = ["opened"]
    try:
        yield log
    finally:
        log.append("closed")


async def main(manager: Manager) -> list[str]:
    """Run the controllers between startup and cleanup; return what happened."""
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(connection())
        manager.add(Examples(log))
        await manager.run()
    return log


def probe(manager: Manager) -> dict[str, str | None]:
    """Return what /readyz answers: each check with its problem, None if it passes."""
    return manager.checks()

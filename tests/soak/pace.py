"""Real time, for a program that watches other processes in real time."""

import asyncio
import time

monotonic = time.monotonic


def wall() -> float:
    """Seconds since the epoch, as the API server on this machine counts them."""
    return time.time()  # noqa: TID251 - compared with the timestamps of the audit log


async def pause(seconds: float) -> None:
    """Let real time pass."""
    await asyncio.sleep(max(seconds, 0.0))  # noqa: TID251 - other processes keep real time

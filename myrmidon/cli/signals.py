"""Call a function when the user presses Ctrl-C, or the system asks the program to end."""

import asyncio
import signal
from collections.abc import Callable


def on_stop(call: Callable[[], object]) -> None:
    """Call the function in the running event loop at SIGINT and SIGTERM."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, call)

"""Show a recording or a failed simulation in a browser.

  myrmidon view recording.json            what the live page of another process exported
  myrmidon view failures/O1-1234.json     the artefact of `myrmidon simulate`

It prints an address of this machine, and serves the page until Ctrl-C.  Nothing is sent anywhere.
"""

import argparse
import asyncio
from pathlib import Path

import orjson

from myrmidon.cli.signals import on_stop
from myrmidon.io.timers.clock import LoopClock
from myrmidon.ui.pages.simulations import SimulationSource
from myrmidon.ui.recording.recordings import RecordedSource, read_recording
from myrmidon.ui.recording.sources import PageSource
from myrmidon.ui.server import LivePage, serve_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", type=Path, help="a file that the live page exported, or an artefact"
    )
    parser.add_argument(
        "--ui",
        default=":0",
        metavar="ADDR",
        help="where the page is served (default: a free port of this machine)",
    )


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    asyncio.run(_run(args))
    return 0


async def _run(args: argparse.Namespace) -> None:
    live = LivePage(source_of(args.file), LoopClock())
    stopped = asyncio.Event()
    on_stop(stopped.set)
    async with serve_page(live, args.ui) as url:
        print(f"{url}/?token={live.token}", flush=True)
        await stopped.wait()


def source_of(path: Path) -> PageSource:
    """Return what a file contains: the artefact of a simulation, or else a recording."""
    try:
        document = orjson.loads(path.read_bytes())
    except ValueError:
        document = None  # read_recording says what is wrong with it
    if isinstance(document, dict) and {"oracle", "plan", "seed"} <= document.keys():
        return SimulationSource(document)
    return RecordedSource(read_recording(path))

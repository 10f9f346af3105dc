"""Ask the controller of an object for a pass now, and wait for the result if wanted.

  myrmidon reconcile webapp shop -n default --wait

It writes the time to the annotation myrmidon.dev/reconcile-requested-at.  The controller tries the
object at once, also if it waits in backoff or has given up, and writes the same value to
status.lastHandledReconcileAt when the pass has finished.
"""

import argparse
import asyncio

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.conditions import READY, find, is_ready
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.cli.arguments.named_objects import add_object_arguments, found
from myrmidon.cli.progress import doing
from myrmidon.errors import UsageError
from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT, is_handled
from myrmidon.fsm.metadata.suspension import SUSPEND, is_suspended
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.io.timers.clock import LoopClock

_LOOK_SECONDS = 0.5
_TIMEOUT_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_object_arguments(parser)
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait until the pass has finished and the object is Ready",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=_TIMEOUT_SECONDS,
        help="how long to wait (default: 60)",
    )
    add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Set the token, and wait."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    async with reading(args) as (client, endpoint):
        ref, obj = await found(client, Discovery(client), args, endpoint.namespace)
        clock = LoopClock()
        token = await request(client, ref, obj, clock)
        print(f"{ref}: requested a pass at {token}")
        if not args.wait:
            return 0
        return await waited(client, ref, token, clock, args.timeout)


async def request(client: Client, ref: ObjectRef, obj: Json, clock: Clock) -> str:
    """Write a new token to the object; return it."""
    if is_suspended(obj):
        raise UsageError(
            f"{ref} is suspended: no state runs.\n  fix: remove its label {SUSPEND}, then try again"
        )
    token = clock.now().isoformat()
    await client.patch(ref, {"metadata": {"annotations": {REQUESTED_AT: token}}})
    return token


async def waited(client: Client, ref: ObjectRef, token: str, clock: Clock, seconds: float) -> int:
    """Wait until the token is acknowledged and the object is Ready; return the exit status."""
    doing(f"waiting until {ref} is Ready, at most {seconds:g} s")
    ends_at = clock.monotonic() + seconds
    while True:
        obj = await client.get(ref)
        handled = is_handled(obj, token)
        if handled and is_ready(obj):
            print("the pass has finished: Ready")
            return 0
        if clock.monotonic() >= ends_at:
            print(_told(obj, seconds, handled=handled))
            return 1
        await clock.sleep(_LOOK_SECONDS)


def _told(obj: Json, timeout: float, *, handled: bool) -> str:
    if not handled:
        return (
            f"no pass has finished in {timeout:g} s: is a controller running, and may it write the "
            "status?"
        )
    ready = find(obj, READY)
    said = f"{ready.reason}: {ready.message}" if ready is not None else "it has no condition Ready"
    return f"the pass has finished, but the object is not Ready after {timeout:g} s: {said}"

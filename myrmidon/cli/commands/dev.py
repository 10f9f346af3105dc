"""Run controllers on an embedded API server and show their objects live; no cluster is needed.

  myrmidon dev examples/web_app
  myrmidon dev controller.py staging.yaml
  myrmidon dev . --once --timeout 30      in a script: 0 if everything became Ready

It installs the definitions of the resources, applies the samples (by default sample*.yaml beside the
controller), runs the controllers and shows every object on its way through its states.  It stays up
until Ctrl-C, for kubectl in a second terminal, and starts the controllers anew when their code
changes; the objects stay.  The address that it prints opens the live page in a browser.

No containers are started: stand-ins set the status that a Deployment controller and a kubelet would set.
"""

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack

from myrmidon.api.clock import Clock
from myrmidon.cli.arguments.files import existing_files
from myrmidon.cli.arguments.parser import port, positive_seconds
from myrmidon.cli.local.views import LiveView, name_of, view_for
from myrmidon.cli.local.workbench import Workbench
from myrmidon.cli.progress import ready
from myrmidon.cli.signals import on_stop
from myrmidon.errors import MyrmidonError, UsageError
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.observability.snapshot import ObjectView, Snapshot

_LOOK_SECONDS = 0.1
_FILES_EVERY = 5  # looks between two checks of the source files
_QUIET_LOOKS = 3  # consecutive looks that must find everything Ready and idle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target", help="a folder with a controller.py, a file, or pkg.module[:Controller,...]"
    )
    parser.add_argument(
        "sample", nargs="*", help="YAML files (default: sample*.yaml beside the controller)"
    )
    parser.add_argument(
        "--once", action="store_true", help="exit with status 0 as soon as everything is Ready"
    )
    parser.add_argument(
        "--as-serviceaccount",
        action="store_true",
        help="run the controllers as a ServiceAccount with exactly the roles that `myrmidon generate rbac` "
        "writes: a missing right shows here as a 403, instead of in the cluster",
    )
    parser.add_argument(
        "--port", type=port, default=0, help="port of the API server (default 0: a free one)"
    )
    parser.add_argument(
        "--ui",
        default=":0",
        metavar="ADDR",
        help="where the live page is served (default: a free port of this machine; '' for none)",
    )
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long --once waits (default 60)",
    )


def run(args: argparse.Namespace) -> int:
    """Run until everything is Ready, or until Ctrl-C."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    clock = LoopClock()
    samples, account = existing_files(args.sample), args.as_serviceaccount
    bench = Workbench(args.target, clock, samples, as_account=account)
    stopped = asyncio.Event()
    on_stop(stopped.set)
    async with bench.serving(args.port), AsyncExitStack() as stack:
        await bench.open()
        ready()
        shown = ""
        if args.ui and not args.once:
            shown = await stack.enter_async_context(bench.showing(args.ui))
        if not bench.samples():
            _tell_no_samples(bench, once=args.once)
        view = view_for(f"myrmidon dev {args.target}")
        try:
            if not args.once:
                view.say(welcome(bench, shown))
            async with asyncio.TaskGroup() as group:
                bench.start(group)
                try:
                    if args.once:
                        return await _until_ready(bench, view, clock, stopped, args.timeout)
                    return await _until_stopped(bench, view, group, stopped)
                finally:
                    await bench.stop()
        finally:
            view.close()


def _tell_no_samples(bench: Workbench, *, once: bool) -> None:
    """Say that there is no object to reconcile; with --once that is an error."""
    kind = bench.controlled[0]
    said = (
        f"there is no sample*.yaml beside the controller, so there is no {kind.kind} to reconcile.\n"
        f"  fix: write a sample.yaml with apiVersion: {kind.api_version}, kind: {kind.kind}, metadata.name "
        "and spec"
    )
    if once:
        raise UsageError(said)
    print(f"note: {said}, or create one with kubectl\n", file=sys.stderr)


def welcome(bench: Workbench, shown: str = "") -> str:
    """Return the address of the live page, and what to type in a second terminal."""
    page = f"live page: {shown}\n\n" if shown else ""
    return (
        f"{page}serving {bench.url}; in a second terminal:\n\n"
        f"  export KUBECONFIG={bench.kubeconfig}\n"
        f"  kubectl get {bench.controlled[0].plural} -w\n"
    )


# --------------------------------------------------------------------------------- loops


async def _until_stopped(
    bench: Workbench, view: LiveView, group: asyncio.TaskGroup, stopped: asyncio.Event
) -> int:
    seen, looks = bench.sources(), 0
    while not await _passed(stopped):
        _raise_failure(bench)
        view.show(bench.snapshot(), bench.problem)
        looks += 1
        if looks % _FILES_EVERY:
            continue
        now = bench.sources()
        changed = [path for path in now if now[path] != seen.get(path)]
        if changed or seen.keys() - now.keys():
            seen = now
            view.say(f"reloading: {', '.join(path.name for path in changed) or 'a file is gone'}")
            await bench.reload(group, changed)
    return 0


async def _until_ready(
    bench: Workbench, view: LiveView, clock: Clock, stopped: asyncio.Event, seconds: float
) -> int:
    ends_at, quiet = clock.monotonic() + seconds, 0
    while not await _passed(stopped):
        _raise_failure(bench)
        snapshot = bench.snapshot()
        view.show(snapshot)
        quiet = quiet + 1 if bench.is_idle and is_all_ready(snapshot) else 0
        if quiet >= _QUIET_LOOKS:
            view.say(f"{len(snapshot.objects)} of {len(snapshot.objects)} Ready")
            return 0
        if clock.monotonic() > ends_at:
            raise MyrmidonError(unready(snapshot, seconds))
    return 130


async def _passed(stopped: asyncio.Event) -> bool:
    """Wait for a moment, less if it is the last; whether it was the last."""
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            await stopped.wait()
    except TimeoutError:
        return False
    return True


def _raise_failure(bench: Workbench) -> None:
    if bench.failure is not None:
        raise bench.failure


def is_all_ready(snapshot: Snapshot) -> bool:
    """Whether the controllers work and every object is Ready."""
    return snapshot.is_working and all(
        one.is_ready or one.phase == "gone" for one in snapshot.objects
    )


def unready(snapshot: Snapshot, seconds: float) -> str:
    """Which objects are not Ready, and what each waits for."""
    lines = [f"not everything is Ready after {seconds:g} s:"]
    found = [one for one in snapshot.objects if not one.is_ready and one.phase != "gone"]
    lines += [f"  {name_of(one)}: {_why(one)}" for one in found]
    if not any("  fix: " in line for line in lines):
        lines.append(
            "  fix: look at the state in which it waits, or give it more time with --timeout"
        )
    return "\n".join(lines)


def _why(one: ObjectView) -> str:
    if one.waiting is None:
        return one.phase
    does = "fails with" if one.waiting.failed else "waits for"
    state = f"{one.path[-1].state} {does} " if one.path else ""
    return f"{state}{one.waiting.reason}: {one.waiting.message}"

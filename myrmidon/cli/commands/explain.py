"""Show where an object is in its graph, what it waits for, and whether its children are ready.

  myrmidon explain webapp shop -n default

All of this is read from the cluster: conditions, references, field managers, Events.  Only the
process of the controller knows what woke the last pass.  If it runs with --trace, it can be asked:

  myrmidon explain webapp shop --process localhost:8081

A file that the live page has exported is enough without a cluster:

  myrmidon explain webapp shop --file recording.json
"""

import argparse
import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import (
    Json,
    annotations_of,
    finalizers_of,
    generation_of,
    is_deleting,
    metadata,
    status_fields,
)
from myrmidon.api.objects.conditions import READY, Condition
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.api.typed.status import ATTEMPTS, NEXT_ATTEMPT
from myrmidon.api.values.timestamps import read_time, write_time
from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.cli.arguments.named_objects import add_object_arguments, found
from myrmidon.cli.local.views import age
from myrmidon.errors import NotFoundError, TransportError, UsageError
from myrmidon.fsm.children.readiness import is_ready
from myrmidon.fsm.declaration.policies import POLICY
from myrmidon.fsm.external.ledger import unremoved
from myrmidon.fsm.metadata.suspension import SUSPEND, is_suspended
from myrmidon.fsm.status.status_home import statuses_of
from myrmidon.io.access.kubeconfig import Endpoint
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.ui.recording.recorded_words import find_story, story_lines
from myrmidon.ui.recording.recordings import read_recording

_EVENTS_SHOWN = 5
_WRITES_SHOWN = 3
_SIGNS = {"True": "✓", "False": "…", "Unknown": "?"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_object_arguments(parser)
    add_cluster_arguments(parser)
    parser.add_argument(
        "--process", metavar="ADDR", help="health address of the controller, to ask why it last ran"
    )
    parser.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="a recording of the live page, instead of a cluster",
    )


def run(args: argparse.Namespace) -> int:
    """Read the object and print its story."""
    if args.file is not None:
        document = read_recording(args.file)
        lines = [*story_lines(find_story(document, args.kind, args.name, args.namespace))]
    else:
        lines = asyncio.run(_run(args))
    for line in lines:
        print(line)
    return 0


async def _run(args: argparse.Namespace) -> list[str]:
    async with reading(args) as (client, endpoint):
        return await _explained(client, args, endpoint.namespace)


async def _explained(client: Client, args: argparse.Namespace, namespace: str) -> list[str]:
    discovery = Discovery(client)
    ref, obj = await found(client, discovery, args, namespace)
    lines = list(told(ref, obj, LoopClock()))
    if args.process:
        lines += await last_pass(args.process, ref, LoopClock())
    lines += externals(obj)
    lines += await _children(client, discovery, obj)
    lines += await _events(client, obj, ref, LoopClock())
    return lines


def told(ref: ObjectRef, obj: Json, clock: Clock) -> Iterator[str]:
    """Yield what the conditions and metadata of the object say.

    Controllers may keep conditions in annotations of their own; each of them has a paragraph.
    """
    yield f"{ref}  generation {generation_of(obj)}"
    statuses = statuses_of(obj)
    shown = [name for name in statuses if name or len(statuses) == 1 or _is_ours(statuses[name])]
    for name in shown:
        if name:
            yield f"controller {name}:"
        yield from _told_status(obj, statuses[name], clock)
    yield from _writers(obj, clock)


def _is_ours(status: Json) -> bool:
    conditions = status.get("conditions") or ()
    return any(isinstance(one, dict) and one.get("type") == READY for one in conditions)


def _told_status(obj: Json, status: Json, clock: Clock) -> Iterator[str]:
    found = status.get("conditions") or ()
    conditions = [one for one in map(Condition.from_json, found) if one is not None]
    ready = next((one for one in conditions if one.type == READY), None)
    yield f"  {_summary(obj, ready, clock)}"
    if POLICY in annotations_of(obj):
        yield f"  policy: {annotations_of(obj)[POLICY]}, by the annotation {POLICY}"
    others = [one for one in conditions if one.type != READY]
    if others:
        yield "states, in the order in which they were first reached:"
    for one in others:
        old = "" if one.observed_generation == generation_of(obj) else "  (of an older generation)"
        why = f"  {one.reason}: {one.message}" if one.status != "True" else ""
        since = _since(one.last_transition_time, clock)
        yield f"  {_SIGNS.get(one.status, '?')} {one.type}  for {since}{why}{old}"
    yield from _attempts(obj, clock)


def _attempts(obj: Json, clock: Clock) -> Iterator[str]:
    """Yield what ``report_attempts`` wrote to the status: failures in a row, and the next attempt."""
    status = status_fields(obj)
    if status.get(ATTEMPTS) is None:
        return
    said = f"attempts that failed in a row: {status[ATTEMPTS]}"
    if status.get(NEXT_ATTEMPT):
        yield f"{said}; the next one follows at {status[NEXT_ATTEMPT]}, now it is {write_time(clock.now())}"
    else:
        yield f"{said}; no other one follows until the object changes, or `myrmidon reconcile` is run"


def _summary(obj: Json, ready: Condition | None, clock: Clock) -> str:
    if is_suspended(obj):
        return f"suspended: no state runs until the label {SUSPEND} is removed"
    if is_deleting(obj):
        held = ", ".join(finalizers_of(obj))
        return f"being deleted; held by {held}"
    if ready is None:
        return "no controller has written its status: is one running, and may it write the status?"
    if ready.observed_generation != generation_of(obj):
        return "its controller has not finished a pass over this generation yet"
    since = _since(ready.last_transition_time, clock)
    return f"Ready for {since}" if ready.status == "True" else f"waits for {since}: {ready.message}"


def _writers(obj: Json, clock: Clock) -> Iterator[str]:
    entries = [each for each in metadata(obj).get("managedFields") or () if each.get("time")]
    for entry in sorted(entries, key=lambda each: str(each["time"]))[-2:]:
        part = entry.get("subresource") or "object"
        yield f"last write of {part}: {_writer(entry)}, {_since(entry['time'], clock)} ago"


def _writer(entry: Json) -> str:
    """Return the field manager; the server calls a client without a User-Agent ``unknown``."""
    manager = str(entry.get("manager") or "")
    return "a client that did not name itself" if manager in ("", "unknown") else manager


async def last_pass(address: str, ref: ObjectRef, clock: Clock) -> list[str]:
    """Why the last pass ran, and what it wrote, as the process of the controller remembers it."""
    place = (
        address if "://" in address else f"http://{'localhost' * address.startswith(':')}{address}"
    )
    transport = HttpTransport(Endpoint(server=place))
    try:
        answer = await transport.send(HttpRequest("GET", f"/passes/{ref.kind.kind}/{ref.key}"))
    except TransportError as error:
        raise UsageError(
            f"the process at {address} does not answer: {error}\n"
            "  fix: `kubectl port-forward` its health port, or leave --process out"
        ) from None
    finally:
        await transport.close()
    if answer.status != 200:
        return [
            f"the process at {address} remembers no pass over it:",
            "  it was started without --trace, does not lead, or has not looked at it yet",
        ]
    return list(passed(orjson.loads(answer.body), clock))


def passed(told: Json, clock: Clock) -> Iterator[str]:
    """One pass in words, and that of each other controller of the same kind."""
    path = told.get("way") or " → ".join(told["path"]) or "no state"
    ago = _since(told["endedAt"], clock)
    yield f"last pass: {ago} ago, number {told['passes']} of this process: {path}"
    yield from (f"  woken by {cause}" for cause in told["causes"])
    if told["againAt"]:
        again_at = read_time(told["againAt"])
        wait = age(clock.now(), again_at)
        if told.get("againFor"):
            yield f"  looks again at {_clock_time(again_at, clock)} (in {wait}), because state {told['againFor']} said so"
        else:
            yield f"  the next one comes in {wait} at the latest"
    if told["writes"]:
        yield f"  last writes: {', '.join(told['writes'][-_WRITES_SHOWN:])}"
    for other in told.get("others") or ():
        yield f"controller {other['controller']}:"
        yield from passed(other, clock)


def _clock_time(at: datetime, clock: Clock) -> str:
    """``12:00:00``; with the date if it is another day's (UTC)."""
    same_day = at.date() == clock.now().date()
    return f"{at:%H:%M:%S}" if same_day else f"{at:%Y-%m-%d %H:%M:%S}"


def externals(obj: Json) -> list[str]:
    """Return a line for each resource outside the cluster that exists or may exist."""
    lines = [
        f"  {'✓' if one.id else '…'} {name}  {one.id or f'no id yet, token {one.token}'}"
        for name, one in unremoved(obj).items()
    ]
    return ["outside the cluster:", *lines] if lines else []


async def _children(client: Client, discovery: Discovery, obj: Json) -> list[str]:
    lines = []
    entries = [
        one for status in statuses_of(obj).values() for one in status.get("resourceRefs") or ()
    ]
    for entry in entries:
        name = f"{entry['kind']} {entry.get('namespace') or ''}/{entry['name']}".replace(" /", " ")
        if entry.get("cluster"):
            lines.append(
                f"  ? {name}  is on the cluster {entry['cluster']}, which is not read here"
            )
            continue
        try:
            kind = await discovery.kind_of(str(entry["apiVersion"]), str(entry["kind"]))
            child = await client.get(
                ObjectRef(kind, entry["name"], str(entry.get("namespace") or ""))
            )
            state = "being deleted" if is_deleting(child) else ""
            lines.append(f"  {'✓' if is_ready(child) else '…'} {name}  {state}".rstrip())
        except NotFoundError:
            lines.append(f"  ✗ {name}  is gone")
    return ["children:", *lines] if lines else []


async def _events(client: Client, obj: Json, ref: ObjectRef, clock: Clock) -> list[str]:
    fields = f"involvedObject.uid={metadata(obj).get('uid')}"
    found = await client.list(kinds.EVENT, ref.namespace or "default", fields=fields)
    found.sort(key=lambda each: str(each.get("lastTimestamp") or ""))
    lines = [
        f"  {_since(each.get('lastTimestamp'), clock)} ago  {each.get('reason')}: {each.get('message')}"
        for each in found[-_EVENTS_SHOWN:]
    ]
    return ["events:", *lines] if lines else []


def _since(stamp: object, clock: Clock) -> str:
    try:
        return age(read_time(str(stamp)), clock.now())
    except ValueError:
        return "an unknown time"

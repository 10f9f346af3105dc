"""Let an object go that is being deleted and that its controller cannot let go.

  myrmidon release webapp shop -n default

A controller holds its objects by a finalizer until it has cleaned up after them.  Where it cannot
(it was uninstalled or renamed, it lost a right, the object no longer fits its model), this command
removes the finalizer.  It shows first which children would be left behind, and asks.

The finalizers of a controller begin with the group of its kind.  Those of other parties are left
alone, unless they are named with --finalizer.
"""

import argparse
import asyncio
from collections.abc import Sequence

from myrmidon.api.objects.accessors import Json, finalizers_of, is_deleting, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.cli.arguments.named_objects import add_object_arguments, found
from myrmidon.cli.progress import ready
from myrmidon.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, UsageError
from myrmidon.fsm.metadata.finalizers import remove_finalizer
from myrmidon.fsm.status.status_home import statuses_of
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from myrmidon.runtime.views.children import is_child, is_tracked_child, recorded

_ATTEMPTS_MAX = 5  # against other writers of the list


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_object_arguments(parser)
    parser.add_argument(
        "--finalizer",
        metavar="NAME",
        action="append",
        default=[],
        help="remove this one instead of those of the kind's group; may be repeated",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Show, ask, remove."""
    return asyncio.run(_run(args))


async def _run(args: argparse.Namespace) -> int:
    async with reading(args) as (client, endpoint):
        discovery = Discovery(client)
        ref, obj = await found(client, discovery, args, endpoint.namespace)
        finalizers = chosen(ref, obj, args.finalizer)
        print(f"{ref} is being deleted and held by {', '.join(finalizers_of(obj))}")
        for line in await survey(client, discovery, obj):
            print(line)
        if not args.yes and not await asyncio.to_thread(_agreed, finalizers):
            print("nothing was changed")
            return 1
        for finalizer in finalizers:
            await remove(client, ref, finalizer)
            print(f"removed {finalizer}")
    return 0


def chosen(ref: ObjectRef, obj: Json, named: Sequence[str]) -> list[str]:
    """The finalizers to remove; raises where there is none, or the object is not being deleted."""
    command = f"kubectl delete {ref.kind.plural} {ref.name} --wait=false"
    if not is_deleting(obj):
        raise UsageError(
            f"{ref} is not being deleted; its controller would put the finalizer back.\n"
            f"  fix: delete it first, `{command}`"
        )
    present = finalizers_of(obj)
    prefixes = tuple(dict.fromkeys((f"{ref.kind.group or 'myrmidon.dev'}/", "myrmidon.dev/")))
    prefix = " or ".join(prefixes)
    wanted = list(named) or [one for one in present if one.startswith(prefixes)]
    missing = [one for one in wanted if one not in present]
    if missing or not wanted:
        raise UsageError(
            f"{ref} has no finalizer {', '.join(missing) or f'that begins with {prefix}'}; "
            f"it has {', '.join(present)}.\n"
            "  fix: name one of these with --finalizer, if you know that its owner is gone"
        )
    return list(dict.fromkeys(wanted))


async def survey(client: Client, discovery: Discovery, obj: Json) -> list[str]:
    """What would become of the children on record."""
    refs = [ref for one in statuses_of(obj).values() for ref in recorded({"status": one}, ())]
    lines = [await _fate(client, discovery, obj, ref) for ref in refs]
    return ["its children on record:", *lines] if lines else ["it has no children on record"]


async def _fate(client: Client, discovery: Discovery, parent: Json, ref: ObjectRef) -> str:
    uid = uid_of(parent)
    if ref.kind.cluster:
        return f"  {ref}  STAYS, if it exists: it is on another cluster; delete it yourself"
    try:
        kind = await discovery.kind_of(ref.kind.api_version, ref.kind.kind)
        child = await client.get(ref._replace(kind=kind))
    except NotFoundError:
        return f"  {ref}  is gone"
    except ForbiddenError as error:
        return f"  {ref}  cannot be read: {error.message}"
    if is_tracked_child(child, uid):
        return f"  {ref}  STAYS: delete it yourself, nothing else will"
    if is_child(child, uid):
        return f"  {ref}  is deleted by the garbage collector"
    return f"  {ref}  is not a child of the object any more"


def _agreed(finalizers: Sequence[str]) -> bool:
    ready()
    try:
        answer = input(f"remove {', '.join(finalizers)}? Its controller will not clean up. [y/N] ")
    except EOFError:
        raise UsageError("standard input ended before an answer.\n  fix: add --yes") from None
    return answer.strip().lower() in ("y", "yes")


async def remove(client: Client, ref: ObjectRef, finalizer: str) -> None:
    """Remove a finalizer and no other, whatever other writers do to the list meanwhile."""
    for attempt in range(1, _ATTEMPTS_MAX + 1):
        try:
            obj = await client.get(ref)
            if finalizer in finalizers_of(obj):
                await client.send(remove_finalizer(ref, obj, finalizer))
        except NotFoundError:
            return
        except (ConflictError, InvalidError) as error:
            if error.causes or attempt == _ATTEMPTS_MAX:
                raise
        else:
            return

"""Show which replica owns which share of the objects.

  myrmidon shards                    all programs whose replicas share the objects
  myrmidon shards -n shop-system     those in one namespace

The exit status is 1 if a part of the objects has no living owner.
"""

import argparse
import asyncio

from myrmidon.api.objects import kinds
from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.shards.overview import ShardRow, overview
from myrmidon.runtime.shards.shard_map import LABEL
from myrmidon.runtime.shards.slices import SLICES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-n", "--namespace", default="", metavar="NS", help="of the Leases (default: all)"
    )
    add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the owners; 1 if a slice has none that lives."""
    rows = asyncio.run(_rows(args))
    if not rows:
        print("no program runs with --shards")
        return 0
    print("\n".join(told(rows)))
    return 0 if all(row.is_served for row in rows) else 1


async def _rows(args: argparse.Namespace) -> list[ShardRow]:
    async with reading(args) as (client, _):
        leases = await client.list(kinds.LEASE, args.namespace, labels=LABEL)
    return overview(leases, LoopClock().now())


def told(rows: list[ShardRow]) -> list[str]:
    """Return the lines of the table."""
    table = [("PROGRAM", "MEMBER", "STATE", "SHARE", "SLICES", "WORKS ON")]
    for row in rows:
        share = f"{100 * row.count / SLICES:.0f}%"
        member = row.member.removeprefix(f"{row.program}-shard-") or "none"
        works_on = "the same" if row.works_on == row.slices else row.works_on or "none"
        state = row.state if row.member else "no owner"
        table.append((row.program, member, state, share, row.slices or "none", works_on))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]

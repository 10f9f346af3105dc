"""Write all objects of a kind in its storage version, and record that in the definition.

  myrmidon migrate-storage examples/web_app
  myrmidon migrate-storage examples/web_app --rate 20

After the storage version of a kind has changed, objects stay stored in the old version until they are
written again, and the old version cannot be removed from the definition.  This command sends an empty
patch for each object, which changes none of its fields, and then removes the old versions from
status.storedVersions.  Other writers may go on meanwhile.

An interrupted migration continues where it was: the progress stands in an annotation of the definition.
The conversion webhook of the program must be running.
"""

import argparse
import asyncio
from functools import partial

from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.cli.arguments.parser import positive_number
from myrmidon.cli.targets.loading import load_definitions
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.generate.manifests.layout import defined_resources
from myrmidon.generate.schema.definitions import crds
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.startup.storage_migration import (
    PER_SECOND,
    MigrationOutcome,
    StorageMigrator,
)
from myrmidon.webhooks.versions.migration import MigrationProgress, StorageMigration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target", nargs="+", help="pkg.module[:Controller], or a folder with a controller.py"
    )
    parser.add_argument(
        "--rate",
        metavar="N",
        type=partial(positive_number, of="objects"),
        default=PER_SECOND,
        help=f"objects per second at most (default: {PER_SECOND:g})",
    )
    add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Migrate each kind of the target; 1 if one is not finished."""
    controllers, resources = load_definitions(args.target)
    names = [
        definition["metadata"]["name"]
        for definition in crds((*defined_resources(controllers), *resources))
    ]
    return asyncio.run(_run(args, names))


async def _run(args: argparse.Namespace, names: list[str]) -> int:
    async with reading(args) as (client, _):
        outcomes = [await migrate(client, name, args.rate) for name in names]
    return 0 if all(outcome.is_finished for outcome in outcomes) else 1


async def migrate(client: Client, name: str, rate: float) -> MigrationOutcome:
    """Migrate one kind, and print the progress."""
    migrator = StorageMigrator(client, LoopClock(), per_second=rate, report=_report)
    try:
        outcome = await migrator.migrate(name)
    except NotFoundError:
        raise UsageError(
            f"the cluster has no definition {name}.\n"
            "  fix: install it, `myrmidon generate crd TARGET | kubectl apply -f -`"
        ) from None
    if outcome.progress is None:
        print(f"{name}: all objects are stored in the storage version")
    elif outcome.is_finished:
        print(f"{name}: done, {outcome.progress.told()}")
    else:
        for failure in outcome.failures:
            print(f"{name}: not migrated: {failure}")
        print(f"{name}: not finished, {outcome.progress.told()}; run it again")
    return outcome


def _report(migration: StorageMigration, progress: MigrationProgress, left: int | None) -> None:
    print(f"{migration.definition} to {migration.kind.version}: {progress.told(left)}")

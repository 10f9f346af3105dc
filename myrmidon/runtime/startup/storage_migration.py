"""StorageMigrator: writes all objects of a kind in its storage version; ``versions.migration`` decides.

The command ``myrmidon migrate-storage`` runs it once; a manager with ``ManagerOptions.migrate_storage`` runs it in the
background as soon as it leads, and again after a failure.

What must hold:

- No edit of another writer is lost: the patch is empty, so the server decides what is written.
- One object that cannot be written (its conversion fails, a webhook refuses it) does not stop the others.  It is
  reported, and ``status.storedVersions`` stays as it is.
- At most ``per_second`` objects are written per second: each is a write to etcd and a watch event for all clients.
- A failure of the server ends the run; the next run continues at the last page that was recorded.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import orjson

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, version_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import (
    ApiError,
    ConflictError,
    ExpiredError,
    MyrmidonError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    TransportError,
)
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.runtime.logs import Logger
from myrmidon.webhooks.versions.migration import (
    MigrationProgress,
    StorageMigration,
    finishing_patch,
    is_in_progress,
    migration_of,
    progress_of,
    progress_patch,
)

FIELD_MANAGER = "myrmidon-storage-migration"
PAGE_SIZE = 250
PER_SECOND = 100.0
_AGAIN_SECONDS = 60.0
_PATIENCE_MAX = 300  # requests, about a second apart

T = TypeVar("T")

Report: TypeAlias = Callable[[StorageMigration, MigrationProgress, int | None], None]
"""Is told the progress after each page, with the number of objects that remain if that is known."""


class MigrationOutcome(NamedTuple):
    """The result of a migration; ``None`` progress if there was nothing to do."""

    definition: str
    progress: MigrationProgress | None = None
    is_finished: bool = True
    failures: tuple[str, ...] = ()


class StorageMigrator:
    """Migrates the objects of one cluster."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        per_second: float = PER_SECOND,
        page_size: int = PAGE_SIZE,
        report: Report | None = None,
    ) -> None:
        self._client, self._clock, self._report = client, clock, report
        self._seconds, self._page_size = 1 / per_second, page_size
        self._next_at = 0.0

    async def migrate(self, name: str) -> MigrationOutcome:
        """Write the objects of a definition in its storage version, and record that in its status."""
        ref = ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, name)
        definition = await self._client.get(ref)
        migration = migration_of(definition)
        if migration is None:
            if is_in_progress(definition):  # it ended before it could tidy up
                await self._client.patch(ref, progress_patch(None))
            return MigrationOutcome(name)
        progress, failures = progress_of(definition, migration), list[str]()
        while True:
            page, remaining = await self._page(migration, progress)
            if page is None:  # the token has expired
                progress = MigrationProgress()
                continue
            for obj in page["items"]:
                progress = await self._rewrite(migration, obj, progress, failures)
            token = (page.get("metadata") or {}).get("continue") or ""
            progress = progress._replace(token=token)
            if self._report is not None:
                self._report(migration, progress, remaining)
            if not token:
                break
            await self._client.patch(ref, progress_patch(progress, migration))
        return await self._finish(ref, migration, progress, failures)

    async def _page(
        self, migration: StorageMigration, progress: MigrationProgress
    ) -> tuple[Json | None, int | None]:
        scope = Scope(migration.kind._replace(version=migration.listed), metadata_only=True)
        request = scope.list_request(limit=self._page_size, continue_token=progress.token)
        try:
            response = await self._patiently(partial(self._client.fetch, request))
            page: Json = orjson.loads(response.body)
        except ExpiredError:
            return None, None
        metadata = page.get("metadata") or {}
        last = 0 if not metadata.get("continue") else None
        return page, metadata.get("remainingItemCount", last)

    async def _rewrite(
        self,
        migration: StorageMigration,
        obj: Json,
        progress: MigrationProgress,
        failures: list[str],
    ) -> MigrationProgress:
        metadata = obj["metadata"]
        ref = ObjectRef(migration.kind, metadata["name"], metadata.get("namespace") or "")
        await self._pace()
        progress = progress._replace(seen=progress.seen + 1)
        try:
            stored = await self._patiently(
                partial(self._client.patch, ref, {}, field_manager=FIELD_MANAGER)
            )
        except (NotFoundError, ConflictError):
            return progress  # it is gone, or another writer has written it in the meantime
        except ApiError as error:
            if _is_outage(error):
                raise
            failures.append(f"{ref}: {error.message}")
            return progress._replace(failed=progress.failed + 1)
        changed = version_of(stored) != version_of(obj)
        return progress._replace(rewritten=progress.rewritten + changed)

    async def _finish(
        self,
        ref: ObjectRef,
        migration: StorageMigration,
        progress: MigrationProgress,
        failures: list[str],
    ) -> MigrationOutcome:
        is_finished = False
        if not progress.failed:
            patch = finishing_patch(await self._client.get(ref), migration)
            if patch is not None:
                try:
                    await self._client.patch(ref, patch, subresource="status")
                    is_finished = True
                except ConflictError:
                    pass  # the definition has just changed; the next run looks again
        await self._client.patch(ref, progress_patch(None))
        return MigrationOutcome(ref.name, progress, is_finished, tuple(failures))

    async def _patiently(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request again while the server asks for patience.

        After a change of the definition it fills the cache of each version, and converts all objects for that.
        """
        for _ in range(_PATIENCE_MAX):
            try:
                return await send()
            except TooManyRequestsError as error:
                await self._clock.sleep(error.retry_after or 1.0)
        return await send()

    async def _pace(self) -> None:
        """Wait until the next object is due."""
        now = self._clock.monotonic()
        self._next_at = max(self._next_at, now) + self._seconds
        if self._next_at - self._seconds > now:
            await self._clock.sleep(self._next_at - self._seconds - now)


async def keep_migrated(
    client: Client, definitions: Iterable[Json], clock: Clock, log: Logger
) -> None:
    """Migrate the definitions of a program; repeat after a failure until all are done."""
    names = [each["metadata"]["name"] for each in definitions if _has_versions(each)]

    def report(migration: StorageMigration, progress: MigrationProgress, left: int | None) -> None:
        log.info(
            "storage migration",
            definition=migration.definition,
            version=migration.kind.version,
            progress=progress.told(left),
        )

    migrator = StorageMigrator(client, clock, report=report)
    while names:
        names = [name for name in names if not await _migrated(migrator, name, log)]
        if names:
            await clock.sleep(_AGAIN_SECONDS)


async def _migrated(migrator: StorageMigrator, name: str, log: Logger) -> bool:
    try:
        outcome = await migrator.migrate(name)
    except (ApiError, TransportError, MyrmidonError) as error:
        log.warning("storage migration interrupted", definition=name, error=str(error))
        return False
    if outcome.is_finished and outcome.progress is not None:
        log.info("storage migration finished", definition=name, progress=outcome.progress.told())
    for failure in outcome.failures:
        log.warning("an object could not be migrated", definition=name, error=failure)
    return outcome.is_finished


def _has_versions(definition: Json) -> bool:
    return len(definition["spec"]["versions"]) > 1


def _is_outage(error: ApiError) -> bool:
    """Whether an error concerns the server and not the object."""
    return isinstance(error, ServerError) and "conversion webhook" not in error.message

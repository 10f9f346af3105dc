"""Commits: every change of the store, with its writer, as the oracles see it."""

from collections.abc import Iterator
from typing import NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.run import Run

NOT_JUDGED = frozenset({"Lease", "Event"})


class JudgedChange(NamedTuple):
    """One change: who made it, when, and the object before and after."""

    number: int  # of the commit
    at: float
    writer: str
    process: int  # -1 if no controller made it
    incarnation: int
    before: Json | None
    after: Json
    deleted: bool

    @property
    def by_controller(self) -> bool:
        """Whether a process of a controller made it."""
        return self.process >= 0

    @property
    def verb(self) -> str:
        """Return what happened: create, update or delete."""
        return "delete" if self.deleted else "update" if self.before is not None else "create"

    @property
    def name(self) -> str:
        """The object in words."""
        meta = self.after["metadata"]
        where = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.after['kind']} {where}{meta['name']}"


def changes_of(run: Run) -> Iterator[JudgedChange]:
    """Return all changes of a run, except those of Leases and Events."""
    store = run.server.store
    commits = {commit.revision: (index, commit) for index, commit in enumerate(run.trace.commits)}
    for stored in store.all_changes(after=store.compacted):
        found = commits.get(stored.revision)
        if found is None or stored.record.value.get("kind") in NOT_JUDGED:
            continue
        index, commit = found
        yield JudgedChange(
            index, commit.at, commit.writer, commit.process, commit.incarnation,
            stored.before.value if stored.before is not None else None,
            stored.record.value, stored.deleted,
        )  # fmt: skip

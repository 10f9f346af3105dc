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
    by_controller: bool  # whether a process of a controller made it
    verb: str  # create, update or delete
    name: str  # the object in words
    uid: str


def changes_of(run: Run) -> Iterator[JudgedChange]:
    """Return all changes of a run, except those of Leases and Events."""
    store = run.server.store
    commits = {commit.revision: (index, commit) for index, commit in enumerate(run.trace.commits)}
    for stored in store.all_changes(after=store.compacted):
        found = commits.get(stored.revision)
        if found is None or stored.record.value.get("kind") in NOT_JUDGED:
            continue
        index, (_, at, writer, process, incarnation) = found
        after = stored.record.value
        before = stored.before.value if stored.before is not None else None
        verb = "delete" if stored.deleted else "create" if before is None else "update"
        meta = after["metadata"]
        where = f"{meta['namespace']}/" if meta.get("namespace") else ""
        yield JudgedChange(
            index, at, writer, process, incarnation, before, after, stored.deleted, process >= 0,
            verb, f"{after['kind']} {where}{meta['name']}", str(meta.get("uid", "")),
        )  # fmt: skip

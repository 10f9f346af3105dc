"""The Jobs of a ScheduledJob: how one is built, and what those that exist say."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from myrmidon.api import Json

PARENT = "demo.myrmidon.dev/scheduled-job"  # label: the name of the ScheduledJob
STARTED_FOR = "demo.myrmidon.dev/started-for"  # annotation: the scheduled time


class Run(NamedTuple):
    """What a Job says about itself."""

    at: datetime
    """The scheduled time for which it was started."""
    name: str
    outcome: str
    """Complete, Failed, or empty while it runs."""
    ended_at: datetime | None
    """When it succeeded."""


def runs_of(jobs: Iterable[Json]) -> list[Run]:
    """Return the runs of the Jobs, the earliest first, without those that are being deleted."""
    return sorted(run_of(job) for job in jobs if not _is_deleting(job))


def run_of(job: Json) -> Run:
    """Return what a Job says about itself."""
    status = job.get("status") or {}
    held = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    outcome = next((each for each in ("Complete", "Failed") if each in held), "")
    ended_at = status.get("completionTime") if outcome == "Complete" else None
    return Run(
        datetime.fromisoformat(job["metadata"]["annotations"][STARTED_FOR]),
        job["metadata"]["name"],
        outcome,
        datetime.fromisoformat(ended_at) if ended_at else None,
    )


def job(parent: str, at: datetime, labels: dict[str, str], spec: Json) -> Json:
    """Build the Job for a scheduled time, from which it has its name."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{parent}-{at.timestamp() / 60:.0f}",
            "labels": {**labels, PARENT: parent},
            "annotations": {STARTED_FOR: at.astimezone(UTC).isoformat()},
        },
        "spec": spec,
    }


def _is_deleting(job: Json) -> bool:
    return "deletionTimestamp" in job["metadata"]

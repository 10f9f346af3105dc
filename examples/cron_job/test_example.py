"""Tests of ScheduledJobs: single starts on both servers, and days of virtual time on the embedded one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.cron_job.controller import ScheduledJob, ScheduledJobs, ScheduledJobSpec
from examples.cron_job.jobs import run_of
from myrmidon import Condition, kinds
from myrmidon.api import Json
from myrmidon.testing import Cluster, Crash, Fault, Harness, Lose, Refuse, Script, is_write
from myrmidon.testing.pytest_plugin import MakeCluster

SAMPLE = Path(__file__).parent / "sample.yaml"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)  # when virtual time begins
HOUR = timedelta(hours=1)


# ---------------------------------------------------------------------- on both servers


def test_the_sample_is_ready_before_its_first_run(harness: MakeCluster) -> None:
    """A schedule that waits for its time is Ready, and so is a suspended one."""
    cluster = harness(ScheduledJobs())
    cluster.apply_file(SAMPLE)
    cluster.settle()

    assert cluster.ready(ScheduledJob, "report")
    assert condition(cluster, "Suspended", "cleanup").status == "True"
    cluster.at_rest()


def test_a_run_from_its_start_to_its_success(harness: MakeCluster) -> None:
    """The Job is made once; the status follows it; a finished Job that is not kept is deleted."""
    cluster = harness(ScheduledJobs())
    due = make_due(cluster, cron(schedule="@yearly", runs=False, successfulJobsHistoryLimit=0))

    (job,) = cluster.list(kinds.JOB)
    assert run_of(job).at == due
    seen = cluster.require(ScheduledJob, "report")
    assert (seen.status.active, seen.status.last_schedule_time) == ([run_of(job).name], due)
    assert cluster.ready(ScheduledJob, "report")
    cluster.restart()
    cluster.at_rest()

    ended_at = finish(cluster, run_of(job).name)
    cluster.eventually(lambda: not cluster.list(kinds.JOB))
    cluster.settle()
    seen = cluster.require(ScheduledJob, "report")
    assert (seen.status.active, seen.status.last_successful_time) == ([], ended_at)
    assert len(created(cluster)) == 1


def test_an_invalid_schedule_is_reported(harness: MakeCluster) -> None:
    """The condition says which part is wrong; a correct schedule helps at once."""
    cluster = harness(ScheduledJobs())
    cluster.apply(cron(schedule="0 25 * * *"))
    cluster.settle()
    said = condition(cluster, "Scheduled")
    assert (said.status, said.reason) == ("False", "InvalidSchedule")
    assert "'25'" in said.message

    cluster.patch(ScheduledJob, "report", {"spec": {"schedule": "0 5 * * *"}})
    cluster.settle()
    assert cluster.ready(ScheduledJob, "report")


# ------------------------------------------------------------------- in days of virtual time


@pytest.fixture
def days() -> Iterator[Harness]:
    """Run the controller in virtual time."""
    with Harness(ScheduledJobs()) as cluster:
        yield cluster


def test_it_runs_at_the_times_of_its_schedule(days: Harness) -> None:
    """For three days, Jobs start at the scheduled minutes only; between them it is Ready."""
    days.apply(cron(schedule="30 6,18 * * *", successfulJobsHistoryLimit=10))
    for hours in range(72):
        days.settle(until=BEGIN + hours * HOUR)
        assert days.ready(ScheduledJob, "report")

    expected = [
        datetime(2026, 1, day, hour, 30, tzinfo=UTC) for day in (1, 2, 3) for hour in (6, 18)
    ]
    assert [run_of(job).at for job in days.list(kinds.JOB)] == expected
    starts = [datetime.fromisoformat(job["metadata"]["creationTimestamp"]) for job in created(days)]
    assert starts == expected
    days.at_rest()


def test_the_history_limits_hold(days: Harness) -> None:
    """Of the finished Jobs the latest are kept, each outcome by its own limit."""
    days.apply(cron(failedJobsHistoryLimit=1, successfulJobsHistoryLimit=2, runs=False))
    for hour in range(1, 9):
        days.settle(until=BEGIN + hour * HOUR)
        (name,) = days.require(ScheduledJob, "report").status.active
        finish(days, name, "Failed" if hour % 2 else "Complete")
    days.settle()

    kept = [(run.at.hour, run.outcome) for run in map(run_of, days.list(kinds.JOB))]
    assert kept == [(6, "Complete"), (7, "Failed"), (8, "Complete")]
    days.at_rest()


@pytest.mark.parametrize(
    ("policy", "hours"), [("Allow", [1, 2, 3]), ("Forbid", [1]), ("Replace", [3])]
)
def test_the_concurrency_policy(days: Harness, policy: str, hours: list[int]) -> None:
    """Of Jobs that do not end, Allow adds more, Forbid keeps the first, Replace the last."""
    days.apply(cron(concurrencyPolicy=policy, runs=False))
    days.settle(until=BEGIN + 3.5 * HOUR)

    jobs = [run_of(job) for job in days.list(kinds.JOB)]
    assert [run.at.hour for run in jobs] == hours
    assert days.require(ScheduledJob, "report").status.active == [run.name for run in jobs]
    assert days.ready(ScheduledJob, "report")
    assert condition(days, "Scheduled").reason == ("Forbidden" if policy == "Forbid" else "Done")
    days.at_rest()


def test_a_forbidden_start_waits_until_its_deadline(days: Harness) -> None:
    """If the earlier Job ends in time the start is late; if not, it is missed."""
    days.apply(cron(concurrencyPolicy="Forbid", startingDeadlineSeconds=600, runs=False))
    days.settle(until=BEGIN + 2 * HOUR + timedelta(minutes=5))
    (first,) = days.list(kinds.JOB)
    finish(days, run_of(first).name)
    days.settle()
    assert [run.at.hour for run in map(run_of, days.list(kinds.JOB))] == [1, 2]

    days.settle(until=BEGIN + 3 * HOUR + timedelta(minutes=9))
    assert condition(days, "Scheduled").reason == "Forbidden"
    days.settle(until=BEGIN + 3 * HOUR + timedelta(minutes=11))
    assert condition(days, "Scheduled").reason == "MissedDeadline"


def test_a_suspended_schedule_starts_nothing(days: Harness) -> None:
    """When it is resumed, the last start that was due is made up for."""
    days.apply(cron(suspend=True))
    days.settle(until=BEGIN + 3.5 * HOUR)
    assert days.list(kinds.JOB) == []
    assert days.ready(ScheduledJob, "report")

    days.patch(ScheduledJob, "report", {"spec": {"suspend": False}})
    days.settle(until=BEGIN + 4.5 * HOUR)
    assert [run_of(job).at.hour for job in days.list(kinds.JOB)] == [3, 4]


def test_a_missed_deadline_is_reported(days: Harness) -> None:
    """A missed start is reported by one Event, and by Ready until the next start."""
    days.apply(cron(startingDeadlineSeconds=600))
    days.settle()
    days.crash()
    days.advance(1.5 * HOUR)
    days.restart()
    days.settle()
    said = condition(days, "Scheduled")
    assert (said.status, said.reason) == ("False", "MissedDeadline")
    assert said.message == "the start of 2026-01-01 01:00 is missed: its deadline is over"
    assert not days.ready(ScheduledJob, "report")
    days.at_rest()
    assert events(days) == {"MissedDeadline": 1}

    days.settle(until=BEGIN + 2 * HOUR)
    assert days.ready(ScheduledJob, "report")
    assert [run_of(job).at.hour for job in days.list(kinds.JOB)] == [2]


def test_of_many_missed_starts_the_last_one_is_made_up_for(days: Harness) -> None:
    """Only the last of many missed starts is made up for; an Event reports more than a hundred."""
    days.apply(cron(schedule="* * * * *"))
    days.settle()
    days.crash()
    days.advance(timedelta(days=2, seconds=1))
    days.restart()
    days.settle()

    assert [run_of(job).at for job in days.list(kinds.JOB)] == [BEGIN + timedelta(days=2)]
    assert events(days) == {"TooManyMissed": 1}


def test_its_generated_role_suffices() -> None:
    """A run, its deletion and a missed start, with the rights that `myrmidon generate rbac` gives."""
    with Harness(ScheduledJobs(), run_as="generated-role") as cluster:
        cluster.apply(cron(successfulJobsHistoryLimit=0, startingDeadlineSeconds=600))
        cluster.settle(until=BEGIN + HOUR)
        assert len(created(cluster)) == 1
        assert cluster.list(kinds.JOB) == []
        cluster.crash()
        cluster.advance(1.5 * HOUR)
        cluster.restart()
        cluster.settle()
        assert events(cluster) == {"MissedDeadline": 1}


FAULTS = (Crash(), Crash(acted=True), Lose(), Refuse())
WRITES = 9  # the first status; and for each run the Job, its start, its success, its deletion


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_no_fault_loses_or_doubles_a_run(fault: Fault) -> None:
    """Each write of two runs fails once."""
    for number in range(1, WRITES + 1):
        script = Script({number: fault}, is_write)
        assert_two_runs(script, f"with {fault} at write {number}")
        assert script.requests >= number, "the fault did not happen"


def test_a_second_crash_does_not_double_a_run_either() -> None:
    """The first process dies after it has started a Job, and the Job ends before there is another.

    If that process deleted the Job before it recorded the start, and died as well, the third one
    would find no trace of the Job.
    """
    start = 2  # the number of the write that creates the first Job
    for number in range(start + 1, WRITES - 2):  # a crash saves writes
        script = Script({start: Crash(acted=True), number: Crash(acted=True)}, is_write)
        assert_two_runs(script, f"with crashes at {start} and {number}")
        assert script.requests >= number, "the second crash did not happen"


def assert_two_runs(faults: Script, when: str) -> None:
    """Let two Jobs start and end; a process that dies is replaced after five minutes."""
    with Harness(ScheduledJobs(), faults=faults) as cluster:
        cluster.apply(cron(successfulJobsHistoryLimit=0, concurrencyPolicy="Replace"))
        for half in range(6):
            cluster.settle(until=BEGIN + half * HOUR / 2)
            while cluster.crashed:
                cluster.advance(timedelta(minutes=5))  # a Job that was started ends in the meantime
                cluster.restart()
                cluster.settle()
        assert [run_of(job).at.hour for job in created(cluster)] == [1, 2], when
        assert cluster.list(kinds.JOB) == [], when
        assert cluster.require(ScheduledJob, "report").status.active == []
        assert cluster.ready(ScheduledJob, "report")
        cluster.at_rest()


# ----------------------------------------------------------------------------- helpers


def cron(*, runs: bool = True, **spec: Any) -> ScheduledJob:
    """Build a schedule, every hour unless it says otherwise; without ``runs`` its Jobs never end."""
    container = {"name": "main", "image": "report:1"}
    pod = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    template = {"spec": {"template": pod, "parallelism": 1 if runs else 0}}
    wire = {"schedule": "0 * * * *", "jobTemplate": template, **spec}
    return ScheduledJob(name="report", spec=ScheduledJobSpec.from_wire(wire))


def make_due(cluster: Cluster, schedule: ScheduledJob) -> datetime:
    """Create the schedule, which is yearly, as if its last run were years ago; return what is due."""
    cluster.apply(schedule)
    changes = {"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}
    cluster.patch(ScheduledJob, "report", changes, subresource="status")
    cluster.eventually(lambda: cluster.list(kinds.JOB))
    cluster.settle()
    return datetime(cluster.clock.now().year, 1, 1, tzinfo=UTC)


def finish(cluster: Cluster, name: str, outcome: str = "Complete") -> datetime:
    """End a Job, as the Job controller would; return the time."""
    now = cluster.clock.now().replace(microsecond=0)
    times = {"lastProbeTime": now.isoformat(), "lastTransitionTime": now.isoformat()}
    types = {"Complete": ("SuccessCriteriaMet", "Complete"), "Failed": ("FailureTarget", "Failed")}
    conditions = [{"type": each, "status": "True", **times} for each in types[outcome]]
    status: Json = {"startTime": now.isoformat(), "conditions": conditions}
    if outcome == "Complete":
        status["completionTime"] = now.isoformat()
    cluster.patch(kinds.JOB, name, {"status": status}, subresource="status")
    return now


def condition(cluster: Cluster, type_: str, name: str = "report") -> Condition:
    """Return a condition, which must exist."""
    found = cluster.condition(ScheduledJob, name, type_)
    assert found is not None
    return found


def created(cluster: Cluster) -> list[Json]:
    """Return every Job that the server has created, in order, those deleted since included."""
    posts = [each for each in cluster.writes if each.request.method == "POST"]
    answers = [each.answer for each in posts if each.status == 201]
    return [answer for answer in answers if answer["kind"] == "Job"]


def events(cluster: Cluster) -> dict[str, int]:
    """Return the reasons of the Events about schedules, and how often each happened."""
    found = (
        one for one in cluster.list(kinds.EVENT) if one["involvedObject"]["kind"] == "ScheduledJob"
    )
    return {one["reason"]: one.get("count", 1) for one in found}

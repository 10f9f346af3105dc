"""Runs Jobs by a schedule, as the CronJobs of Kubernetes do.

                    ┌──▶ scheduled    starts the Job that is due, and is done until the next one
recorded ───────────┤
                    └──▶ suspended    starts no Job

Every Job has a name that its start time determines, so that a start which is repeated after a crash
finds the Job that exists.  Between two starts the object is Ready: `Done(again=...)` says when the
next pass is.
"""

from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from myrmidon import (
    ConditionValue,
    Context,
    Controller,
    Done,
    Failed,
    Model,
    OutputSet,
    Resource,
    Result,
    Rule,
    Status,
    kinds,
    state,
)

from .jobs import PARENT, Run, job, runs_of
from .schedule import Schedule, parse

MISSED_MAX = 100  # more missed starts than this are reported by an Event
NAME_MAX = 52  # the names of its Jobs, which are 11 longer, are labels of their pods

# ------------------------------------------------------------------------- the resource


class JobTemplate(Model):
    """The Jobs to start."""

    labels: dict[str, str] = Field(default_factory=dict)
    """The labels of the Jobs."""
    spec: dict[str, Any]
    """The spec of the Jobs."""


class ScheduledJobSpec(Model):
    """What the user asks for."""

    schedule: str
    """When to start a Job: a cron expression, in UTC."""
    starting_deadline_seconds: int | None = Field(default=None, ge=0)
    """How late a Job may start; one that could not be started by then is missed."""
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    """What to do while an earlier Job runs: start another, wait for it, or delete it first."""
    suspend: bool = False
    """Start no Jobs; those that run go on."""
    job_template: JobTemplate
    successful_jobs_history_limit: int = Field(default=3, ge=0)
    """How many Jobs that succeeded are kept."""
    failed_jobs_history_limit: int = Field(default=1, ge=0)
    """How many Jobs that failed are kept."""


class ScheduledJobStatus(Status):
    """What the controller has observed."""

    active: list[str] = Field(default_factory=list)
    """The names of the Jobs that run."""
    last_schedule_time: datetime | None = None
    """The time for which a Job was started last."""
    last_successful_time: datetime | None = None
    """When a Job succeeded last."""
    last_missed_time: datetime | None = None
    """The last time whose Job could not be started before its deadline."""


class ScheduledJob(
    Resource[ScheduledJobSpec, ScheduledJobStatus],
    group="demo.myrmidon.dev",
    version="v1",
    short_names=["sj"],
    columns={
        "Schedule": ".spec.schedule",
        "Suspend": ".spec.suspend",
        "Last": ".status.lastScheduleTime",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
    rules=[
        Rule(f"size(self.metadata.name) <= {NAME_MAX}", message=f"at most {NAME_MAX} characters")
    ],
):
    """A Job that is started at the times of a schedule."""


# ----------------------------------------------------------------------- the controller


class ScheduledJobs(Controller[ScheduledJob]):
    """Starts the Jobs of every ScheduledJob, and deletes old ones."""

    manages = (kinds.JOB,)

    @state(initial=True, condition="Recorded", then=("scheduled", "suspended"))
    async def recorded(self, cron: ScheduledJob, out: OutputSet, ctx: Context) -> Result:
        """The status says which Jobs run and ran; of the finished ones the last few are kept."""
        # By label, which a Job has from the beginning: no crash can hide one.
        runs = runs_of(await ctx.list(kinds.JOB, labels={PARENT: cron.name}))
        for run in beyond_limits(runs, cron.spec):
            # The status is written at the end of a pass.  If a process dies before that, the Job
            # is the only record of its start: it stays until the status has it.
            if cron.status.last_schedule_time and run.at <= cron.status.last_schedule_time:
                out.delete(kinds.JOB, run.name)
        status = cron.status
        status.active = [run.name for run in runs if not run.outcome]
        status.last_schedule_time = latest(status.last_schedule_time, *(run.at for run in runs))
        status.last_successful_time = latest(
            status.last_successful_time, *(run.ended_at for run in runs)
        )
        return Done(goto="suspended" if cron.spec.suspend else "scheduled")

    @state(condition="Suspended")
    def suspended(self, cron: ScheduledJob, out: OutputSet) -> Result:
        """No Job is started.  Starts that are due meanwhile count as missed."""
        return Done()

    @state(condition="Scheduled")
    def scheduled(self, cron: ScheduledJob, out: OutputSet, ctx: Context) -> Result:
        """The Job that was due last has been started."""
        spec, status = cron.spec, cron.status
        try:
            schedule = parse(spec.schedule)
        except ValueError as error:
            return Failed("InvalidSchedule", error, retry=False)
        due, following = schedule.latest(ctx.now), schedule.after(ctx.now)
        since = status.last_schedule_time or cron.creation_timestamp or ctx.now
        if due <= since:
            return Done(again=following)

        if spec.starting_deadline_seconds is not None:
            deadline = due + timedelta(seconds=spec.starting_deadline_seconds)
            if ctx.now > deadline:
                return missed(cron, ctx, due, following)
            following = min(following, deadline + timedelta(seconds=1))
        if spec.concurrency_policy == "Forbid" and status.active:
            message = f"the start of {due:%F %R} waits for {', '.join(status.active)}"
            return Done(again=following, condition=ConditionValue("True", "Forbidden", message))
        if spec.concurrency_policy == "Replace":
            for name in status.active:
                out.delete(kinds.JOB, name)
        tell_if_many_missed(schedule, since, ctx)
        template = spec.job_template
        out.apply(job(cron.name, due, template.labels, template.spec), create_only=True)
        # The next pass, caused by the new Job, records the start: creating the Job may still fail.
        return Done(again=following)


def beyond_limits(runs: list[Run], spec: ScheduledJobSpec) -> list[Run]:
    """Return the finished runs that are not kept, which are the earliest."""
    succeeded = [run for run in runs if run.outcome == "Complete"]
    failed = [run for run in runs if run.outcome == "Failed"]
    return [
        *succeeded[: max(0, len(succeeded) - spec.successful_jobs_history_limit)],
        *failed[: max(0, len(failed) - spec.failed_jobs_history_limit)],
    ]


def missed(cron: ScheduledJob, ctx: Context, due: datetime, following: datetime) -> Result:
    """Report a start whose deadline is over: by one Event, and by Ready until the next start."""
    message = f"the start of {due:%F %R} is missed: its deadline is over"
    if cron.status.last_missed_time != due:
        cron.status.last_missed_time = due
        ctx.event("Warning", "MissedDeadline", message)
    return Done(again=following, condition=ConditionValue("False", "MissedDeadline", message))


def tell_if_many_missed(schedule: Schedule, since: datetime, ctx: Context) -> None:
    """Record an Event if more than MISSED_MAX starts are due; only the last one is made up for."""
    for _ in range(MISSED_MAX + 1):
        since = schedule.after(since)
        if since > ctx.now:
            return
    ctx.event("Warning", "TooManyMissed", f"more than {MISSED_MAX} starts were missed")


def latest(*moments: datetime | None) -> datetime | None:
    """Return the latest of the moments that are known."""
    return max((moment for moment in moments if moment), default=None)

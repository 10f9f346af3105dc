"""Validation of Jobs and CronJobs."""

import re
from collections.abc import Iterator
from copy import deepcopy
from zoneinfo import available_timezones

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import (
    choice,
    label_selector,
    non_negative,
    one_of,
    qualified,
    selects,
    unchanged,
)
from myrmidon.apiserver.builtin.validation.pods import check_template
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.refusals.causes import invalid, not_supported, required
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import label_problems

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_FIXED = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_CRON_NAME_MAX = 52


def check_job(job: Json) -> Iterator[StatusCause]:
    """Check a Job."""
    spec = job["spec"]
    yield from _check_generated_selector(job)
    yield from _check_indexed_name(job)
    yield from _check_spec("spec", spec)
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    wrong = list(label_selector("spec.selector", selector or {}))
    yield from wrong
    labels = spec["template"]["metadata"].get("labels")
    if not wrong and not selects(selector, labels or {}):
        yield invalid(
            "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
        )


def _check_indexed_name(job: Json) -> Iterator[StatusCause]:
    """Check that the pods of an Indexed Job can be named by the Job and their index."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if label_problems(last):
            problem = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid("metadata.name", name, problem)


def _check_spec(field: str, spec: Json) -> Iterator[StatusCause]:
    for name in _COUNTS:
        yield from non_negative(f"{field}.{name}", spec.get(name))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from _check_mode(field, spec)
    replacements = ("Failed", "TerminatingOrFailed")
    yield from choice(
        f"{field}.podReplacementPolicy", spec.get("podReplacementPolicy"), replacements
    )
    for index, rule in enumerate(spec.get("podFailurePolicy", {}).get("rules") or ()):
        yield from _check_failure_rule(f"{field}.podFailurePolicy.rules[{index}]", rule, spec)
    yield from check_template(f"{field}.template", spec["template"])
    yield from _check_restarts(field, spec)


def _check_failure_rule(field: str, rule: Json, spec: Json) -> Iterator[StatusCause]:
    actions = ("Count", "FailIndex", "FailJob", "Ignore")
    yield from one_of(f"{field}.action", rule.get("action"), actions)
    if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
        yield invalid(f"{field}.action", "FailIndex", "requires the backoffLimitPerIndex to be set")
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", [])
    if codes is not None:
        operators = ("In", "NotIn")
        yield from one_of(f"{field}.onExitCodes.operator", codes.get("operator"), operators)
        if not codes.get("values"):
            yield invalid(f"{field}.onExitCodes.values", None, "at least one value is required")
    for index, pattern in enumerate(conditions):
        at = f"{field}.onPodConditions[{index}]"
        yield from qualified(f"{at}.type", pattern.get("type", ""))
        yield from one_of(f"{at}.status", pattern.get("status"), ("False", "True", "Unknown"))
    if (codes is None) == (not conditions):
        which = "one" if codes is None else "both"
        end = "required" if codes is None else "not supported"
        detail = f"specifying {which} of OnExitCodes and OnPodConditions is {end}"
        yield StatusCause(field, "FieldValueInvalid", f"Invalid value: {detail}")


def _check_mode(field: str, spec: Json) -> Iterator[StatusCause]:
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        yield not_supported(f"{field}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed" and "completions" not in spec:
        yield required(f"{field}.completions", "when completion mode is Indexed")
    if mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if name in spec:
                yield invalid(f"{field}.{name}", spec[name], "requires indexed completion mode")


def _check_restarts(field: str, spec: Json) -> Iterator[StatusCause]:
    at = f"{field}.template.spec.restartPolicy"
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in ("", None, "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(at, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _check_generated_selector(job: Json) -> Iterator[StatusCause]:
    """Check that the labels of a generated selector have their fixed values."""
    spec, meta = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    expected = {
        "controller-uid": meta.get("uid", ""),
        "job-name": meta.get("name", ""),
        "batch.kubernetes.io/controller-uid": meta.get("uid", ""),
        "batch.kubernetes.io/job-name": meta.get("name", ""),
    }
    labels = spec["template"]["metadata"].get("labels", {})
    for key, value in expected.items():
        if key not in labels:
            yield required(f"spec.template.metadata.labels[{key}]", f"must be '{value}'")
        elif labels[key] != value:
            yield invalid(f"spec.template.metadata.labels[{key}]", labels, f"must be '{value}'")
    if spec.get("selector") is not None and not selects(spec["selector"], expected):
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def check_job_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check an update of a Job, of which most fields are immutable."""
    spec, before = new["spec"], old["spec"]
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    )
    if not elastic:
        yield from unchanged("spec.completions", spec.get("completions"), before.get("completions"))
    yield from unchanged("spec.selector", spec.get("selector"), before.get("selector"))
    mutable = before.get("suspend", False) and not old["status"].get("startTime")
    template, fixed = spec["template"], before["template"]
    if mutable:
        fixed = _with_scheduling_of(template, fixed)
    yield from unchanged("spec.template", template, fixed)
    for name in _FIXED:
        yield from unchanged(f"spec.{name}", spec.get(name), before.get(name))


def _with_scheduling_of(template: Json, old: Json) -> Json:
    """Return the old template with the new scheduling fields.

    These may change while a Job is suspended.
    """
    merged = deepcopy(old)
    for part, names in (
        ("metadata", ("labels", "annotations")),
        ("spec", ("affinity", "nodeSelector", "tolerations", "schedulingGates")),
    ):
        for name in names:
            merged[part].pop(name, None)
            if name in template[part]:
                merged[part][name] = template[part][name]
    return merged


def check_cron_job(cron_job: Json) -> Iterator[StatusCause]:
    """Check a CronJob."""
    spec = cron_job["spec"]
    yield from _check_schedule(spec.get("schedule", ""))
    yield from _check_zone(spec.get("timeZone"))
    yield from one_of(
        "spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace")
    )
    for name in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from non_negative(f"spec.{name}", spec.get(name))
    job = spec["jobTemplate"]["spec"]
    yield from _check_spec("spec.jobTemplate.spec", job)
    if "selector" in job:
        yield invalid(
            "spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated"
        )
    if job.get("manualSelector"):
        yield not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))


def check_cron_job_name(cron_job: Json) -> Iterator[StatusCause]:
    """Check that the name of a CronJob leaves room for the suffix of its Jobs' names."""
    name = cron_job["metadata"].get("name", "")
    if len(name) > _CRON_NAME_MAX:
        yield invalid("metadata.name", name, f"must be no more than {_CRON_NAME_MAX} characters")


_WORDS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat"
_PART = rf"(\*|\?|(\d+|{_WORDS})(-(\d+|{_WORDS}))?)(/\d+)?"
_CRON = re.compile(rf"^{_PART}(,{_PART})*$", re.IGNORECASE)
_NAMED = re.compile(r"^@(yearly|annually|monthly|weekly|daily|midnight|hourly|every \S+)$")
_FIELDS = 5
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def _check_schedule(schedule: str) -> Iterator[StatusCause]:
    field = "spec.schedule"
    if not schedule:
        yield required(field)
        return
    if "TZ" in schedule:
        yield invalid(
            field, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        )
        return
    problem = _schedule_problem(schedule)
    if problem:
        yield invalid(field, schedule, problem)


def _schedule_problem(schedule: str) -> str:
    if schedule.startswith("@"):
        return "" if _NAMED.match(schedule) else f"unrecognized descriptor: {schedule}"
    parts = schedule.split()
    if len(parts) != _FIELDS:
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    for part, (low, high) in zip(parts, _BOUNDS, strict=True):
        if not _CRON.match(part):
            return (
                f"failed to parse int from {part}: strconv.Atoi: parsing {part!r}: invalid syntax"
            )
        for number in map(read_int, re.findall(r"(?<!/)\b\d+", part)):
            if number > high:
                return f"end of range ({number}) above maximum ({high}): {part}"
            if number < low:
                return f"beginning of range ({number}) below minimum ({low}): {part}"
    return ""


def _check_zone(zone: str | None) -> Iterator[StatusCause]:
    if zone is None:
        return
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        yield invalid(
            "spec.timeZone",
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        )
    elif zone not in available_timezones():
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")

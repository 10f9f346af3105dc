"""Validation of Events and Leases."""

from collections.abc import Iterator

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import positive, qualified, unchanged
from myrmidon.apiserver.refusals.causes import invalid, required
from myrmidon.apiserver.refusals.failures import StatusCause

_SERIES_MIN = 2
_DEFAULT = "default"  # the namespace of events about cluster-scoped objects
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "type",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)
_TEXT_MAX, _NOTE_MAX = 128, 1024


def check_event(event: Json) -> Iterator[StatusCause]:
    """Check an Event of the core group.

    It must be in the namespace of its object, and with an eventTime it needs a reporter.
    """
    yield from _check_event(event, reporter="reportingComponent")


def check_new_event(event: Json) -> Iterator[StatusCause]:
    """Check an Event of ``events.k8s.io``: a series has a count of at least two."""
    yield from _check_event(event, reporter="reportingController")
    series = event.get("series")
    if series is not None:
        if series.get("count", 0) < _SERIES_MIN:
            yield invalid("series.count", "", f"should be at least {_SERIES_MIN}")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")


def check_new_event_creation(event: Json) -> Iterator[StatusCause]:
    """Check that the fields that only Events of the core group have are empty."""
    if event.get("eventTime") is None:
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid(field, "", "needs to be unset")


def check_new_event_change(new: Json, old: Json) -> Iterator[StatusCause]:
    """Check the fields of an Event that cannot change."""
    for field in (*_FIXED, "eventTime"):
        yield from unchanged(field, new.get(field), old.get(field))


def _check_event(event: Json, *, reporter: str) -> Iterator[StatusCause]:
    namespace = event["metadata"].get("namespace", "")
    about = event["involvedObject"].get("namespace", "")
    if event.get("eventTime") is None:
        if about != namespace and (about or namespace not in ("", _DEFAULT)):
            yield invalid("involvedObject.namespace", about, "does not match event.namespace")
        return
    if (not about and namespace not in (_DEFAULT, "kube-system")) or (about and about != namespace):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    component = event.get("reportingComponent", "")
    if not component:
        yield required(reporter)
    yield from qualified(reporter, component)
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field, "")
        if not value:
            yield required(field)
        elif len(value) > _TEXT_MAX:
            yield _too_long(field, _TEXT_MAX)
    if len(event.get("message", "")) > _NOTE_MAX:
        yield _too_long("message", _NOTE_MAX)


def _too_long(field: str, limit: int) -> StatusCause:
    return invalid(field, "", f"can have at most {limit} characters")


def check_lease(lease: Json) -> Iterator[StatusCause]:
    """Check a Lease."""
    spec = lease["spec"]
    yield from positive("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")

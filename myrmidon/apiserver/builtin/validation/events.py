"""Events and leases."""

from collections.abc import Iterator

from myrmidon.api.objects import Json
from myrmidon.apiserver.builtin.validation.common import positive, qualified, unchanged
from myrmidon.apiserver.causes import invalid, required, too_long
from myrmidon.apiserver.failures import Cause

_DEFAULT = "default"  # where events of cluster-scoped objects are
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


def check_event(event: Json) -> Iterator[Cause]:
    """An event is in the namespace of its object; one with a time says who reports it."""
    namespace = event["metadata"].get("namespace", "")
    about = event["involvedObject"].get("namespace", "")
    if event.get("eventTime") is None:
        if about != namespace and (about or namespace not in ("", _DEFAULT)):
            yield invalid("involvedObject.namespace", about, "does not match event.namespace")
        return
    if (not about and namespace not in (_DEFAULT, "kube-system")) or (about and about != namespace):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    yield from _check_reporter(event)


def _check_reporter(event: Json) -> Iterator[Cause]:
    for field, name in (("reportingComponent", "reportingController"), ("reportingInstance",) * 2):
        value = event.get(field, "")
        if not value:
            yield required(name)
        if field == "reportingComponent":
            yield from qualified(name, value)
        if len(value) > _TEXT_MAX:
            yield too_long(name, _TEXT_MAX)
    for field in ("action", "reason"):
        if not event.get(field):
            yield required(field)
        elif len(event[field]) > _TEXT_MAX:
            yield too_long(field, _TEXT_MAX)
    if len(event.get("message", "")) > _NOTE_MAX:
        yield too_long("message", _NOTE_MAX)
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", event.get("type", ""), "has invalid value: ")


def check_event_change(new: Json, old: Json) -> Iterator[Cause]:
    """An event of the newer kind only counts on; the older kind may be rewritten."""
    if new.get("eventTime") is None and old.get("eventTime") is None:
        yield from check_event(new)
        return
    for field in _FIXED:
        yield from unchanged(field, new.get(field), old.get(field))
    if new.get("eventTime") != old.get("eventTime"):
        yield invalid("eventTime", new.get("eventTime"), "field is immutable")


def check_lease(lease: Json) -> Iterator[Cause]:
    """Rules for a Lease."""
    spec = lease["spec"]
    yield from positive("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if spec.get("preferredHolder") and not spec.get("strategy"):
        yield Cause(
            "spec.preferredHolder",
            "FieldValueForbidden",
            "Forbidden: may only be specified when `strategy` is defined",
        )

"""Refuse writes that would use more than a ResourceQuota of the namespace allows.

The check reads ``status`` of the quotas, not ``spec``: the quota controller (``actors.quotas``) copies
the limits there and counts what exists.  On a server without that controller a quota limits nothing,
as on a kube-apiserver without kube-controller-manager.

A write that is allowed is charged at once: ``Call.charges`` holds the new status of each quota, and
``verbs.create.commit`` writes them together with the object.  Two creates in a row therefore cannot
both use what is left, whether or not the controller has run between them.  Nothing is charged for a
dry run, nor for a write that fails later.  Usage goes down only when the controller counts again.

This is the last step: whatever webhooks change counts.
"""

from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.apiserver.builtin.quotas.amounts import Amounts, add, is_more, is_zero, only, printed
from myrmidon.apiserver.builtin.quotas.usage import (
    CLAIMS,
    SERVICES,
    UNCOUNTED,
    is_in_scope,
    names_for,
    unspecified,
    usage,
)
from myrmidon.apiserver.refusals.failures import Failure, forbidden_object
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.store import Record

QUOTAS = "resourcequotas"
_UPDATED = frozenset({SERVICES, CLAIMS})  # an update of these may use more; of others it cannot


class ResourceQuotaStep:
    """The admission step that compares what a write uses with the quotas of its namespace."""

    def admit(self, admission: PendingWrite) -> Json | None:  # noqa: ARG002 - this step only checks
        """Leave the object as it is."""
        return None

    def check(self, admission: PendingWrite) -> None:
        """Raise a 403 if a quota would be exceeded; otherwise note what the write is charged."""
        call = admission.call
        resource = call.type.stored_as
        if not call.type.kind.namespaced or admission.subresource:
            return
        if admission.operation != "CREATE" and (
            admission.operation != "UPDATE" or resource not in _UPDATED
        ):
            return
        quotas = call.core.store.scan(QUOTAS, f"{call.route.namespace}/")
        if quotas and resource not in UNCOUNTED:
            call.charges = _charges(admission, quotas)


def _charges(admission: PendingWrite, quotas: list[Record]) -> list[tuple[Record, Json]]:
    """Return the quotas that a write is charged to, each with its new status."""
    call, obj = admission.call, admission.obj
    assert obj is not None, "a delete is not charged"
    resource, now = call.type.stored_as, call.draws.now
    concerned: list[Record] = []
    for record in quotas:
        hard = _status(record.value, "hard")
        names = names_for(resource, hard)
        if not names or not is_in_scope(resource, record.value, obj):
            continue
        problem = unspecified(resource, obj, names)
        if problem:
            raise _refused(admission, f"failed quota: {name_of(record.value)}: {problem}")
        if not _status(record.value, "used").keys() >= set(names):
            listed = ",".join(names)
            text = f"status unknown for quota: {name_of(record.value)}, resources: {listed}"
            raise _refused(admission, text)
        concerned.append(record)
    if not concerned:
        return []
    wanted = usage(resource, obj, now)
    if admission.old is not None:
        wanted = add(wanted, usage(resource, admission.old, now), -1)
    wanted = {name: amount for name, amount in wanted.items() if not is_zero(amount)}
    charged = [(record, _charged(admission, record.value, wanted)) for record in concerned]
    return [(record, status) for record, status in charged if status is not None]


def _charged(admission: PendingWrite, quota: Json, wanted: Amounts) -> Json | None:
    """Return the status of a quota after a write; None if it stays as it is."""
    hard, used = _status(quota, "hard"), _status(quota, "used")
    requested = only(wanted, hard)
    if not requested:
        return None
    new = add(used, requested)
    exceeded = [name for name in requested if is_more(new[name], hard[name])]
    if exceeded:
        raise _refused(
            admission,
            f"exceeded quota: {name_of(quota)}, requested: {printed(only(requested, exceeded))}, "
            f"used: {printed(only(used, exceeded))}, limited: {printed(only(hard, exceeded))}",
        )
    return {"hard": hard, "used": new}


def _status(quota: Json, part: str) -> dict[str, str]:
    found: dict[str, str] = (quota.get("status") or {}).get(part) or {}
    return found


def _refused(admission: PendingWrite, problem: str) -> Failure:
    kind = admission.call.type.kind
    return forbidden_object(kind.plural, kind.group, name_of(admission.obj or {}), problem)

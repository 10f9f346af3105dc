"""Admission webhooks: which webhooks to call for a write, and how to act on their replies.

The webhook configurations are objects in the store.  A webhook is called if its rules, its selectors
(``matching``) and its match conditions (``conditions``) fit the write.  Mutating webhooks are called
one after the other, each with the object as the one before left it.  If the object has changed after
that, those with ``reinvocationPolicy: IfNeeded`` that were called before the last change are called
once more.  Validating webhooks see the final object.  All of them may refuse the write and warn.

This module does not send requests; ``fronts.webhook_client`` does.  A request that needs a reply
stops with ``WebhookNeeded`` and is run again from its start when the reply has arrived.  Replies are
kept with the review that was asked (``Draws``), so a request with three webhooks is run four times and
calls each of them once.  A reply counts only as long as the review would be the same: if another client
has changed the object in the meantime, the webhook is called again.

Writes of webhook configurations and policies are not sent to webhooks, so that a broken webhook can be
removed.  Audit annotations of replies are checked and dropped: this server writes no audit log.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.admission.conditions import MatchConditionError, conditions_hold
from myrmidon.apiserver.admission.matching import GROUP, is_exempt, webhook_match
from myrmidon.apiserver.admission.reinvocation import reinvocations
from myrmidon.apiserver.admission.reviews import (
    ReviewError,
    Verdict,
    accepted,
    review_of,
    review_request,
)
from myrmidon.apiserver.admission.services import resolve
from myrmidon.apiserver.admission.views import redecoded, scope_of, seen, unseen
from myrmidon.apiserver.golang.json import decode
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.golang.types import json_kind
from myrmidon.apiserver.refusals.failures import Failure, bad_request, internal_error
from myrmidon.apiserver.requests.call import PendingWrite, WebhookNeeded
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.resources.strategy import DecodeError
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch

_MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
_VALIDATING = f"validatingwebhookconfigurations.{GROUP}"
_VERSIONS = ("v1", "v1beta1")
_SAFE = ("None", "NoneOnDryRun")
_STATUS_FIELDS = ("reason", "details", "code")


class _Invocation(NamedTuple):
    """A webhook that looks at the write, and the version in which it sees the object."""

    key: str
    webhook: Json
    seen_as: ResourceType


class Webhooks:
    """The admission step that calls the webhooks of the configurations in the store."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Call all matching mutating webhooks, one after the other, and apply their patches."""
        records = admission.call.core.store.scan(_MUTATING)
        if not records or is_exempt(admission):
            return None
        calls = reinvocations(admission, _MUTATING)
        before = admission.obj
        for invocation in _invocations(admission, records):
            if admission.again and not calls.is_due(invocation.key):
                continue
            verdict = _ask(admission, invocation, mutating=True)
            patch = _operations(verdict, invocation.webhook) if verdict else []
            if patch and _patch(admission, invocation, patch):
                calls.changed(admission)
            if invocation.webhook.get("reinvocationPolicy") == "IfNeeded":
                calls.called(invocation.key)
        calls.ended(admission)
        return None if admission.obj is before else admission.obj

    def check(self, admission: PendingWrite) -> None:
        """Call all matching validating webhooks; each may refuse the write."""
        records = admission.call.core.store.scan(_VALIDATING)
        if not records or is_exempt(admission):
            return
        for invocation in list(_invocations(admission, records)):
            _ask(admission, invocation, mutating=False)


# ------------------------------------------------------------------------- which webhooks


def _invocations(admission: PendingWrite, records: list[Any]) -> Iterator[_Invocation]:
    for record in records:
        for webhook in record.value.get("webhooks") or ():
            seen_as = webhook_match(admission, webhook)
            if seen_as is not None and _conditions_hold(admission, webhook, seen_as):
                yield _Invocation(f"{record.key}/{webhook['name']}", webhook, seen_as)


def _conditions_hold(admission: PendingWrite, webhook: Json, seen_as: ResourceType) -> bool:
    conditions = webhook.get("matchConditions")
    if not conditions:
        return True
    policy = webhook.get("failurePolicy", "Fail")
    try:
        return conditions_hold(conditions, scope_of(admission, seen_as), failure_policy=policy)
    except MatchConditionError as error:
        raise _forbidden(admission, str(error)) from None


def _forbidden(admission: PendingWrite, problem: str) -> Failure:
    kind, name = admission.call.type.kind, admission.name
    text = f"{admission.call.type.resource} {quote(name)} is forbidden: {problem}"
    return Failure(403, "Forbidden", text, group=kind.group, kind=kind.plural, name=name)


# ------------------------------------------------------------------------- question and reply


def _ask(admission: PendingWrite, invocation: _Invocation, *, mutating: bool) -> Verdict | None:
    """Return the verdict of a webhook that allows the write; None if it failed and may be ignored."""
    webhook = invocation.webhook
    if admission.call.dry_run and webhook.get("sideEffects") not in _SAFE:
        raise bad_request(f"admission webhook {quote(webhook['name'])} does not support dry run")
    try:
        verdict = _verdict(admission, invocation, mutating=mutating)
    except ReviewError as error:
        if webhook.get("failurePolicy", "Fail") == "Ignore":
            return None
        raise _uncallable(webhook, str(error)) from None
    admission.call.warn(*verdict.warnings)
    if not verdict.allowed:
        raise Denial(webhook["name"], verdict.status)
    return verdict


def _uncallable(webhook: Json, problem: str) -> Failure:
    return internal_error(f"failed calling webhook {quote(webhook['name'])}: {problem}")


def _verdict(admission: PendingWrite, invocation: _Invocation, *, mutating: bool) -> Verdict:
    webhook, draws = invocation.webhook, admission.call.draws
    request = review_request(admission, invocation.seen_as)
    request["object"] = seen(admission, admission.obj, invocation.seen_as)
    request["oldObject"] = seen(admission, admission.old, invocation.seen_as)
    accepts = webhook.get("admissionReviewVersions") or _VERSIONS
    version = next((each for each in accepts if each in _VERSIONS), "v1")
    key = _question_key(admission, invocation, mutating=mutating)
    asked, uid = draws.reviews.get(key, (None, ""))
    if key not in draws.replies or asked != request:
        uid = draws.ask(key, request)
        question: Json = {"webhook": webhook, "review": review_of(request, uid, version)}
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            question["service"] = resolve(admission.call.core.store, service)
        raise WebhookNeeded(key, question)
    return accepted(draws.replies[key], uid, version, mutating=mutating)


def _question_key(admission: PendingWrite, invocation: _Invocation, *, mutating: bool) -> str:
    """Return the name of a question: a webhook is asked about each object, and maybe twice."""
    metadata = (admission.old or admission.obj or {}).get("metadata") or {}
    phase = f"admit{int(admission.again)}" if mutating else "check"
    return f"{invocation.key}/{phase}/{metadata.get('namespace', '')}/{metadata.get('name', '')}"


class Denial(Failure):
    """The refusal of a webhook: its own Status, with the name of the webhook in the message."""

    def __init__(self, webhook: str, status: Mapping[str, Any]) -> None:
        said = f"admission webhook {quote(webhook)} denied the request"
        explanation = status.get("message") or status.get("reason")
        text = f"{said}: {explanation}" if explanation else f"{said} without explanation"
        code = status.get("code")
        code = code if isinstance(code, int) and 400 <= code <= 999 else 400
        super().__init__(code, str(status.get("reason") or ""), text)
        self._status = status

    def to_json(self) -> Json:
        """Return the Status object."""
        shown: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self._status.get("metadata") or {},
            "status": "Failure",
            "message": self.message,
        }
        sent = {**self._status, "code": self.code}
        shown.update({name: sent[name] for name in _STATUS_FIELDS if sent.get(name)})
        return shown


# ------------------------------------------------------------------------- patches


def _operations(verdict: Verdict, webhook: Json) -> list[Any]:
    """Return the operations of the patch in a reply; raise if it is not one."""
    if verdict.patch is None:
        return []
    problem = ""
    operations: Any = None
    try:
        operations = decode(verdict.patch)
    except ValueError as error:
        problem = str(error)
    if not problem and not isinstance(operations, list):
        said = json_kind(operations)
        problem = f"json: cannot unmarshal {said} into Go value of type jsonpatch.Patch"
    if problem:
        problem = f"received undecodable patch in webhook response: {problem}"
    elif operations and verdict.patch_type != "JSONPatch":
        problem = f"unsupported patch type {quote(verdict.patch_type)}"
    if not problem:
        return list(operations)
    if webhook.get("failurePolicy", "Fail") == "Ignore":
        return []
    raise _uncallable(webhook, problem)


def _patch(admission: PendingWrite, invocation: _Invocation, operations: list[Any]) -> bool:
    """Apply a patch to the object; return whether it has changed."""
    if admission.obj is None:
        name = quote(invocation.webhook["name"])
        raise internal_error(
            f"admission webhook {name} attempted to modify the object, which is not supported for "
            "this operation"
        )
    shown = seen(admission, admission.obj, invocation.seen_as)
    try:
        changed = apply_json_patch(shown, operations)
        obj = redecoded(admission, unseen(admission, changed, invocation.seen_as))
    except (JsonPatchError, DecodeError) as error:
        raise internal_error(str(error)) from None
    is_changed = not identical(obj, admission.obj)
    admission.obj = obj
    return is_changed

"""Admission webhooks: which webhooks to call for a write, and how to act on their replies.

The webhook configurations are objects in the store.  A webhook is called if its rules and its
object and namespace selectors match the write.  Mutating webhooks reply with a JSON patch,
validating webhooks only allow or deny.

This module does not send requests; ``fronts.webhook_client`` does.  A request that needs a reply
stops with ``WebhookNeeded`` and is run again from its start when the reply has arrived.  Replies
are kept by the key of the question, so a request with three webhooks is run four times and calls
each of them once.

Writes of webhook configurations are not sent to webhooks, so that a broken webhook can be removed.

The key does not name the object.  A deletecollection therefore calls each webhook once, for the
first object that it matches, and its reply counts for all objects.  If another webhook matches only
a later object, the earlier ones are already deleted when the request stops to call it.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from myrmidon.api.objects.accessors import Json, labels_of
from myrmidon.api.requests.selectors import Requirement, Selector
from myrmidon.apiserver.call import PendingWrite, WebhookNeeded
from myrmidon.apiserver.failures import Failure, internal
from myrmidon.apiserver.golang.json import decode
from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch

_GROUP = "admissionregistration.k8s.io"
_MUTATING = f"mutatingwebhookconfigurations.{_GROUP}"
_VALIDATING = f"validatingwebhookconfigurations.{_GROUP}"
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


class Webhooks:
    """The admission step that calls the webhooks of the configurations in the store."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Apply the patches of all matching mutating webhooks, one after the other."""
        if admission.obj is None:
            return None
        changed = None
        for key, webhook in _concerned(admission, _MUTATING):
            patch = _allowed(_reply(admission, key, webhook), webhook)
            if patch:
                changed = admission.obj = _patched(admission.obj, patch, webhook)
        return changed

    def check(self, admission: PendingWrite) -> None:
        """Call all matching validating webhooks; each may refuse the write."""
        for key, webhook in _concerned(admission, _VALIDATING):
            _allowed(_reply(admission, key, webhook), webhook)


# ------------------------------------------------------------------------- matching webhooks


def _concerned(admission: PendingWrite, resource: str) -> Iterator[tuple[str, Json]]:
    call = admission.call
    if call.type.kind.group == _GROUP:
        return  # a broken webhook must not prevent its own removal
    for record in call.core.store.scan(resource):
        for webhook in record.value.get("webhooks") or ():
            if _matches(admission, webhook):
                yield f"{resource}/{record.key}/{webhook['name']}", webhook


def _matches(admission: PendingWrite, webhook: Json) -> bool:
    rules = webhook.get("rules") or ()
    if not any(_rule_matches(rule, admission) for rule in rules):
        return False
    subject = admission.obj or admission.old or {}
    objects = _selector(webhook.get("objectSelector"))
    if not objects.matches(labels_of(subject)) and not objects.matches(
        labels_of(admission.old or {})
    ):
        return False
    return _namespace_matches(admission, _selector(webhook.get("namespaceSelector")))


def _rule_matches(rule: Json, admission: PendingWrite) -> bool:
    kind = admission.call.type.kind
    scope = rule.get("scope") or "*"
    resource = f"{kind.plural}/{admission.subresource}" if admission.subresource else kind.plural
    any_resource = "*/*" if admission.subresource else "*"
    return (
        _lists(rule.get("operations"), admission.operation)
        and _lists(rule.get("apiGroups"), kind.group)
        and _lists(rule.get("apiVersions"), kind.version)
        and any(each in (resource, any_resource, "*/*") for each in rule.get("resources") or ())
        and scope in ("*", "Namespaced" if kind.namespaced else "Cluster")
    )


def _lists(listed: list[str] | None, wanted: str) -> bool:
    return any(each in ("*", wanted) for each in listed or ())


def _namespace_matches(admission: PendingWrite, selector: Selector) -> bool:
    call = admission.call
    if call.type.stored_as == "namespaces":
        return selector.matches(labels_of(admission.obj or admission.old or {}))
    if not call.type.kind.namespaced:
        return True
    record = call.core.store.get("namespaces", call.route.namespace)
    return selector.matches(labels_of(record.value) if record is not None else {})


def _selector(raw: Json | None) -> Selector:
    raw = raw or {}
    equal = [
        Requirement(key, "=", (value,)) for key, value in (raw.get("matchLabels") or {}).items()
    ]
    others = [
        Requirement(each["key"], _OPERATORS[each["operator"]], tuple(each.get("values") or ()))
        for each in raw.get("matchExpressions") or ()
    ]
    return Selector((*equal, *others))


# ------------------------------------------------------------------------ question and reply


def _reply(admission: PendingWrite, key: str, webhook: Json) -> Mapping[str, Any]:
    key = f"{key}/{admission.operation}"
    replies = admission.call.draws.replies
    if key not in replies:
        raise WebhookNeeded(key, {"webhook": webhook, "review": _review(admission)})
    reply: Mapping[str, Any] = replies[key]
    return reply


def _review(admission: PendingWrite) -> Json:
    call, kind = admission.call, admission.call.type.kind
    subject = admission.obj or admission.old or {}
    named = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    resource = {"group": kind.group, "version": kind.version, "resource": kind.plural}
    request: Json = {
        "uid": call.draws.uid(),
        "kind": named,
        "resource": resource,
        "requestKind": named,
        "requestResource": resource,
        "name": (subject.get("metadata") or {}).get("name", ""),
        "operation": admission.operation,
        "userInfo": {"username": call.user.name, "groups": list(call.user.groups)},
        "object": admission.obj,
        "oldObject": admission.old,
        "dryRun": call.dry_run,
        "options": None,
    }
    if kind.namespaced:
        request["namespace"] = call.route.namespace
    if admission.subresource:
        request["subResource"] = request["requestSubResource"] = admission.subresource
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _allowed(reply: Mapping[str, Any], webhook: Json) -> Any:
    """Return the patch of a reply that allows the write, or None if it has none.

    Raise if the webhook denied the write, or if it failed and its failurePolicy is not Ignore.
    """
    response = reply.get("response")
    if not isinstance(response, Mapping):
        if webhook.get("failurePolicy", "Fail") == "Ignore":
            return None
        problem = reply.get("error") or "expected response.uid and response.allowed"
        raise internal(f'failed calling webhook "{webhook["name"]}": {problem}')
    if not response.get("allowed"):
        raise _denied(response.get("status") or {}, webhook["name"])
    return response.get("patch")


def _denied(status: Mapping[str, Any], name: str) -> Failure:
    said = f'admission webhook "{name}" denied the request'
    message = status.get("message") or status.get("reason")
    text = f"{said}: {message}" if message else f"{said} without explanation"
    code = status.get("code")
    return Failure(
        code if isinstance(code, int) and 400 <= code <= 599 else 400,
        str(status.get("reason") or ""),
        text,
        details=False,
    )


def _patched(obj: Json, patch: str, webhook: Json) -> Json:
    try:
        changed: Json = apply_json_patch(obj, decode(b64decode(patch)))
    except (ValueError, JsonPatchError) as error:
        raise internal(f'failed calling webhook "{webhook["name"]}": {error}') from None
    return changed

"""Reviews: from an AdmissionReview with a request to one with a response.

``decide`` runs the methods of one webhook and returns a ``Decision``, a value; ``response`` writes
it as JSON.  What must hold:

- It never raises, whatever a method does.  ``ValueError`` and ``AssertionError`` are how a validator
  says no, like in pydantic.  A pydantic ``ValidationError`` refuses with the paths of its fields.  Any
  other exception is a mistake in the method: it refuses the write too, names the method and the line,
  and is passed on in ``Decision.errors`` for the log.
- All validators run, so that the user sees all problems at once.
- An object that does not fit its model is refused with the problems that the model reports.  That is
  how validators of models, which the CRD cannot express, are enforced.
- An update of an object that is being deleted is allowed, and so is one that leaves an unfit spec as
  it was.  Otherwise no controller could write its finalizers and annotations, and such an object
  could never be deleted.
- Defaults come from all methods in turn, each working on the result of the one before.  An object
  that does not fit its model gets no defaults: it is refused when it is validated.
- Our own writes come here as well, in the middle of a pass.  Nothing here waits for a pass.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

import orjson
from pydantic import ValidationError

from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.api.typed.object_types import raw_of
from myrmidon.api.typed.resource import Resource
from myrmidon.api.values.equality import same
from myrmidon.api.values.merge_differences import merge_patch_between
from myrmidon.errors import UnfitObjectError
from myrmidon.fsm.machine.raised import UnexpectedError
from myrmidon.patch.json_patch_making import json_patch_between
from myrmidon.patch.merge_patch import merge
from myrmidon.webhooks.admission.refusals import problem_of, refusal_status, timeout_status
from myrmidon.webhooks.admission.requests import (
    AdmissionContext,
    AdmissionRequest,
    InvalidField,
    request_of,
)
from myrmidon.webhooks.admission.webhooks import Webhook, WebhookMethod

_MARGIN_SECONDS, _MARGIN_SHARE = 0.5, 0.1  # for the way from the API server and back


@dataclass(slots=True)
class Decision:
    """The answer to one request: allowed unless there is a status."""

    uid: str
    status: Json | None = None
    warnings: list[str] = field(default_factory=list)
    patch: list[Json] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    """Exceptions that a method did not mean as a refusal."""

    @property
    def is_allowed(self) -> bool:
        """Whether the write goes on."""
        return self.status is None

    def response(self) -> Json:
        """Return the AdmissionReview with the response."""
        said: Json = {"uid": self.uid, "allowed": self.is_allowed}
        if self.status is not None:
            said["status"] = self.status
        if self.warnings:
            said["warnings"] = self.warnings
        if self.patch and self.is_allowed:
            said["patchType"] = "JSONPatch"
            said["patch"] = b64encode(orjson.dumps(self.patch)).decode()
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": said}


def budget_seconds(timeout_seconds: float) -> float:
    """Return how long the methods of a webhook may take, so that the answer is there in time."""
    return timeout_seconds - max(_MARGIN_SECONDS, timeout_seconds * _MARGIN_SHARE)


async def decide(
    webhook: Webhook,
    review: Json,
    context: Callable[[AdmissionRequest[Any]], AdmissionContext],
) -> Decision:
    """Run the methods of a webhook; raise ``ValueError`` if the review is not one."""
    request = request_of(review, webhook.object_of)
    decision = Decision(request.uid, warnings=request.warnings)
    methods = [each for each in webhook.methods if request.operation in each.declared.on]
    if not methods or _leaves(request):
        return decision
    call = _Call(webhook, request, context, decision)
    if webhook.role == "default":
        await call.complete(methods)
    else:
        await call.validate(methods)
    if request.problems:
        subject = _subject(request)
        name = request.name or name_of(subject)
        decision.status = refusal_status(webhook.kind, name, request.problems, subject)
    return decision


def timed_out(webhook: Webhook, review: Json, seconds: float) -> Decision:
    """Return the answer for methods that did not end within their budget, by the failure policy."""
    decision = Decision(request_of(review, None).uid)
    status = timeout_status(webhook.name, seconds)
    if webhook.terms.failure_policy == "Fail":
        decision.status = status
    else:
        decision.warnings.append(f"{status['message']}; the write was not checked")
    return decision


class _Call:
    """The methods of a webhook on their way through one request."""

    def __init__(
        self,
        webhook: Webhook,
        request: AdmissionRequest[Any],
        context: Callable[[AdmissionRequest[Any]], AdmissionContext],
        decision: Decision,
    ) -> None:
        self._webhook, self._request, self._decision = webhook, request, decision
        self._context = context

    async def validate(self, methods: Iterable[WebhookMethod]) -> None:
        """Run all validators; they refuse through the request."""
        request, raw = self._request, _subject(self._request)
        try:
            obj = self._webhook.object_of(raw)
        except UnfitObjectError as error:
            if request.operation == "delete":
                return  # what does not fit must be deletable
            if request.old_raw is not None and same(raw.get("spec"), request.old_raw.get("spec")):
                return
            request.problems += map(problem_of, error.problems)
            return
        for method in methods:
            await self._run(method, obj)

    async def complete(self, methods: Iterable[WebhookMethod]) -> None:
        """Run all defaults, and keep what they change as a patch."""
        before = _subject(self._request)
        after = before
        for method in methods:
            try:
                obj = _editable(self._webhook, after)
            except UnfitObjectError:
                return
            seen = _wire(obj)
            returned = await self._run(method, obj)
            if isinstance(returned, dict):
                after = merge(after, returned)
            else:
                after = merge(after, merge_patch_between(seen, _wire(obj)))
        self._decision.patch = json_patch_between(before, after)

    async def _run(self, method: WebhookMethod, obj: Any) -> Any:
        request = self._request
        is_own = isinstance(self._webhook.subject, type) and issubclass(
            self._webhook.subject, Resource
        )
        given: tuple[Any, ...] = (obj,) if is_own else (self._webhook.subject, obj)
        given += (request,) if method.count > len(given) else ()
        try:
            given += (self._context(request),) if method.count > len(given) else ()
            returned = method.function(*given)
            return await returned if isawaitable(returned) else returned
        except ValidationError as error:
            request.problems += _problems(error, _subject(request))
        except (ValueError, AssertionError) as error:
            request.refuse("", str(error) or f"{method.name} refuses it")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code must not turn into a 500
            self._decision.errors.append(error)
            request.refuse("", f"{method.name} failed: {UnexpectedError(error)}")
        return None


def _leaves(request: AdmissionRequest[Any]) -> bool:
    """Whether the write belongs to a deletion that is under way."""
    old = request.old_raw or {}
    return request.operation == "update" and bool(
        (old.get("metadata") or {}).get("deletionTimestamp")
    )


def _subject(request: AdmissionRequest[Any]) -> Json:
    """Return the object that the request is about: the new one, or the one to be deleted."""
    found = request.raw.get("oldObject" if request.operation == "delete" else "object")
    return found if isinstance(found, dict) else {}


def _editable(webhook: Webhook, raw: Json) -> Any:
    """Return an object that a default may change."""
    obj = webhook.object_of(deepcopy(raw))
    return obj.copy() if isinstance(obj, Resource) else obj


def _wire(obj: Any) -> Json:
    """Return the object as JSON that later changes of it do not reach, without null fields."""
    raw: Json = obj.to_json() if isinstance(obj, Resource) else raw_of(obj)
    copied: Json = deepcopy(raw)
    return copied


def _problems(error: ValidationError, raw: Json) -> list[InvalidField]:
    """Return the problems of a pydantic error that a method raised itself.

    Its paths begin at the model that was built or assigned to, which mostly is the spec.
    """
    found: list[InvalidField] = []
    for problem in error.errors(include_url=False):
        place = problem["loc"]
        is_in_spec = bool(place) and place[0] not in raw
        path = "spec" if is_in_spec else ""
        for step in place:
            path += f"[{step}]" if isinstance(step, int) else f".{step}"
        found.append(InvalidField(path.removeprefix("."), problem["msg"]))
    return found

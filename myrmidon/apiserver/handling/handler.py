"""Handle one request: authenticate, authorize, find the resource type, and run the verb.

The steps, in the order of the real server:

1. the path (``routing``): a resource, or a document of ``discovery``;
2. the user (``auth``): token, impersonation;
3. authorization, also for resources that do not exist;
4. the resource type, and whether it has the verb and the subresource;
5. the verb (``verbs.dispatch``).

Everything is synchronous and depends only on the request and ``Core``.  If a request cannot be
answered at once (a watch, a future revision, a webhook), the result is a value that the front acts
on.  A request that needs a webhook raises ``WebhookNeeded``, which becomes a ``Question``; it is
run again from its start with the reply, and ``Draws`` makes sure that it sees the same time and
gets the same uids.  Only the last step writes to the store, so an abandoned run changes nothing; a
deletecollection is the exception (see ``verbs.delete``).

Requests cannot exhaust the server: ``DeepStack`` makes room for objects of ``DEPTH_MAX`` levels,
and ``StepBudget`` limits the cost of all regular expressions of one request.  Beyond either limit
the response is a 400.
"""

import re
from functools import cached_property
from typing import TYPE_CHECKING

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.account_tokens import TokenError
from myrmidon.apiserver.auth.impersonation import impersonated
from myrmidon.apiserver.auth.users import Attributes, Tokens, User, forbidden
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.budget import StepBudget, StepBudgetError
from myrmidon.apiserver.golang.durations import parse_duration
from myrmidon.apiserver.handling.memo import RequestMemo
from myrmidon.apiserver.handling.read_memo import SHARED_READS
from myrmidon.apiserver.refusals.failures import (
    Failure,
    bad_request,
    method_not_allowed,
    unknown_resource,
)
from myrmidon.apiserver.requests.call import Call, Core, Draws, WebhookNeeded
from myrmidon.apiserver.requests.outcomes import ConversionQuestion, Outcome, Question
from myrmidon.apiserver.requests.routing import Route, route
from myrmidon.apiserver.resources.conversions import ConversionNeeded
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.verbs.dispatch import act, failed
from myrmidon.apiserver.wire.negotiation import failure_form

if TYPE_CHECKING:
    from myrmidon.apiserver.discovery.paths import Documents

_NOT_SERVED = HttpResponse(
    404, (("content-type", "text/plain; charset=utf-8"),), b"404 page not found\n"
)
_STEPS_MAX = 3_000_000  # for all regular expressions of one request: about two seconds
_TOO_COSTLY = "the regular expressions of the schema or its validation rules take too many steps on this object"
_ONE_NAME = re.compile(r"(?:^|,)metadata\.name==?([^=!,\\]+)(?:,|$)")
_ACROSS_NAMESPACES = frozenset({"list", "watch"})


class Handler:
    """Answers requests on the objects and users of one ``Core``."""

    def __init__(self, core: Core, tokens: Tokens, memo: RequestMemo | None = None) -> None:
        self.core, self._tokens = core, tokens
        self.memo = memo
        """Answers repeated writes from memory; None to answer every request anew."""

    def answer(
        self, request: HttpRequest, user: User | None = None, draws: Draws | None = None
    ) -> Outcome:
        """Return the outcome of a request.  ``user`` replaces the user that the token names."""
        if draws is None:
            draws = Draws(self.core.environment)
            if self.memo is not None and request.method != "GET":
                return self.memo.answer(
                    self.core, request, user, draws, lambda: self._work(request, user, draws)
                )
            if self.memo is not None and not _depends_on_time(request):
                return SHARED_READS.answer(
                    self.core, request, user, lambda: self._work(request, user, draws)
                )
        return self._work(request, user, draws)

    def _work(self, request: HttpRequest, user: User | None, draws: Draws) -> Outcome:
        try:
            with go_json.DeepStack():
                if request.method == "GET":  # reads run no regular expressions of clients
                    return self._answer(request, user, draws)
                with StepBudget(_STEPS_MAX):
                    return self._answer(request, user, draws)
        except StepBudgetError:
            return failed(bad_request(_TOO_COSTLY))
        except RecursionError:
            return failed(bad_request("exceeded max depth"))
        except Failure as failure:
            return failed(failure, form=failure_form(request.headers.get("accept", "")))
        except WebhookNeeded as ask:
            return Question(ask.key, ask.question, draws)
        except ConversionNeeded as needed:
            return ConversionQuestion(needed, draws)

    def _answer(self, request: HttpRequest, user: User | None, draws: Draws) -> Outcome:
        query: dict[str, str] = {}
        for key, value in request.query:
            query.setdefault(key, value)
        found = route(request, query)
        if query.get("timeout") and (found is None or found.verb != "watch"):
            _check_timeout(query["timeout"])
        user = user or self._identify(request, draws)
        if found is None:
            return self._document(request, user)
        self._authorize(user, found, query)
        resource_type = self.core.registry.find(found.group, found.version, found.plural)
        if resource_type is None:
            if self.core.registry.is_builtin_group(found.group):
                raise unknown_resource()
            return _NOT_SERVED
        draws.rewind()
        call = Call(self.core, request, query, user, found, resource_type, draws)
        if resource_type.deprecation:
            call.warn(resource_type.deprecation)
        try:
            return _custom(call) if resource_type.custom else _builtin(call)
        except Failure as failure:
            form = failure_form(request.headers.get("accept", ""))
            return failed(failure, call.warnings, form)

    @cached_property
    def _documents(self) -> "Documents":
        """The discovery documents, built on first use: myrmidon's own clients do not read them."""
        from myrmidon.apiserver.discovery.paths import Documents  # noqa: PLC0415

        return Documents(self.core.registry, self.core.accounts, self.core.store)

    def _identify(self, request: HttpRequest, draws: Draws) -> User:
        def read_account(token: str) -> User | None:
            try:
                return self.core.accounts.read(token, draws.now)[0]
            except TokenError:
                return None

        user = self._tokens.identify(request.headers, read_account)
        return impersonated(user, request.headers, self.core.authorizer)

    def _authorize(self, user: User, found: Route, query: dict[str, str]) -> None:
        wanted = Attributes(
            found.verb,
            found.group,
            found.version,
            found.plural,
            found.subresource,
            found.namespace,
            found.name or _selected_name(found, query),
        )
        if not self.core.authorizer.allows(user, wanted):
            raise forbidden(user, wanted)

    def _document(self, request: HttpRequest, user: User) -> HttpResponse:
        wanted = Attributes(request.method.lower(), path=request.path)
        if not self.core.authorizer.allows(user, wanted):
            raise forbidden(user, wanted)
        return self._documents.find(request) or _NOT_SERVED


# ------------------------------------------------------------- checks before the verb is run


def _depends_on_time(request: HttpRequest) -> bool:
    """Whether a read is a watch, asks for a revision, or is answered with a table, which has ages."""
    if "as=" in request.headers.get("accept", ""):
        return True
    return any(name in ("watch", "resourceVersion", "continue") for name, _ in request.query)


def _selected_name(found: Route, query: dict[str, str]) -> str:
    """Return the object name that a list, watch or deletecollection selects, or ``""``.

    A user who may only read one object by name may list it with a field selector on that name.
    """
    if found.verb not in {"list", "watch", "deletecollection"}:
        return ""
    match = _ONE_NAME.search(query.get("fieldSelector", ""))
    return match[1] if match is not None else ""


def _check_timeout(text: str) -> None:
    """Refuse a timeout that is not a duration; one that is has no effect, because answers come at once."""
    try:
        parse_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _custom(call: Call) -> Outcome:
    found, kind = call.route, call.type.kind
    if kind.namespaced != bool(found.namespace) and (
        found.namespace or found.verb not in _ACROSS_NAMESPACES
    ):
        return _NOT_SERVED
    if found.subresource and found.subresource not in subresources(call.type):
        raise call.not_found()
    return act(call)


def _builtin(call: Call) -> Outcome:
    found, kind = call.route, call.type.kind
    own_namespace = (kind.group, kind.plural) == ("", "namespaces")
    if bool(found.namespace) != kind.namespaced and not own_namespace:
        if not kind.namespaced or found.name:
            raise unknown_resource()
        if found.verb not in _ACROSS_NAMESPACES:
            raise method_not_allowed()
    if found.name and call.type.verbs == ("create",):
        raise unknown_resource()
    if found.subresource:
        if found.subresource not in subresources(call.type):
            raise unknown_resource()
    elif (
        call.request.method == "HEAD"
        or found.verb not in call.type.verbs
        or (
            (found.verb == "create") == bool(found.name)
            and found.verb in {"create", "update", "patch"}
        )
    ):
        raise method_not_allowed()
    return act(call)


def subresources(resource_type: ResourceType) -> tuple[str, ...]:
    """Return the names of the subresources of a resource type."""
    listed = list(resource_type.subresources)
    if resource_type.status:
        listed.append("status")
    if resource_type.scale is not None:
        listed.append("scale")
    return tuple(listed)

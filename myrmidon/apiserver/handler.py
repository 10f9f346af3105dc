"""From a request to what comes of it.

Synchronous and pure: everything it knows is in the request and in ``Core``.  What cannot be answered
at once (a watch, a revision of the future, a webhook) is a value that the front of the server acts on.
"""

from collections.abc import Iterable

from myrmidon.api.wire import HttpRequest, HttpResponse
from myrmidon.apiserver import encoding, views
from myrmidon.apiserver.admission import Ask
from myrmidon.apiserver.auth import Attributes, Tokens, User, forbidden
from myrmidon.apiserver.call import Call, Core, Draws
from myrmidon.apiserver.creating import create
from myrmidon.apiserver.deleting import delete, delete_collection, success
from myrmidon.apiserver.documents import document
from myrmidon.apiserver.failures import (
    Failure,
    internal,
    method_not_allowed,
    unknown_resource,
    verb_not_supported,
)
from myrmidon.apiserver.listing import Page, list_page, parse_version, too_large
from myrmidon.apiserver.negotiation import PLAIN, Form, encode, negotiate, partial, render
from myrmidon.apiserver.opening import open_watch
from myrmidon.apiserver.outcomes import Outcome, Question, WaitFor
from myrmidon.apiserver.patching import patch
from myrmidon.apiserver.registry import ResourceType
from myrmidon.apiserver.routing import Route, route
from myrmidon.apiserver.scale import get_scale, patch_scale, replace_scale
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.updating import replace

_NOT_SERVED = HttpResponse(
    404, (("content-type", "text/plain; charset=utf-8"),), b"404 page not found\n"
)
_SUBRESOURCE_VERBS = frozenset({"get", "update", "patch"})
_ACROSS_NAMESPACES = frozenset({"list", "watch"})


class Handler:
    """Answers requests."""

    def __init__(self, core: Core, tokens: Tokens) -> None:
        self.core, self._tokens = core, tokens

    def answer(
        self, request: HttpRequest, user: User | None = None, draws: Draws | None = None
    ) -> Outcome:
        """What comes of a request.  ``user``: who asks, instead of whom the token names."""
        try:
            return self._answer(request, user, draws)
        except Failure as failure:
            return failed(failure)
        except Ask as ask:
            return Question(ask.key, ask.question)

    def _answer(self, request: HttpRequest, user: User | None, draws: Draws | None) -> Outcome:
        user = user or self._tokens.identify(request.headers)
        query: dict[str, str] = {}
        for key, value in request.query:
            query.setdefault(key, value)
        found = route(request, query)
        if found is None:
            return self._document(request, query, user)
        self._authorize(user, found)
        resource_type = self.core.registry.find(found.group, found.version, found.plural)
        if resource_type is None:
            if self.core.registry.is_builtin_group(found.group):
                raise unknown_resource()
            return _NOT_SERVED
        draws = draws or Draws(self.core.seams)
        draws.rewind()
        call = Call(self.core, request, query, user, found, resource_type, draws)
        if resource_type.deprecation:
            call.warn(resource_type.deprecation)
        try:
            return _custom(call) if resource_type.custom else _builtin(call)
        except Failure as failure:
            return failed(failure, call.warnings)

    def _authorize(self, user: User, found: Route) -> None:
        wanted = Attributes(
            found.verb,
            found.group,
            found.version,
            found.plural,
            found.subresource,
            found.namespace,
            found.name,
        )
        if not self.core.authorizer.allows(user, wanted):
            raise forbidden(user, wanted)

    def _document(self, request: HttpRequest, query: dict[str, str], user: User) -> HttpResponse:
        wanted = Attributes(request.method.lower(), path=request.path)
        if not self.core.authorizer.allows(user, wanted):
            raise forbidden(user, wanted)
        return document(self.core, request, query) or _NOT_SERVED


def failed(failure: Failure, warnings: Iterable[str] = ()) -> HttpResponse:
    """A failure as an answer."""
    headers = [("content-type", "application/json"), *_warnings(warnings)]
    if failure.retry_after is not None:
        headers.append(("retry-after", str(failure.retry_after)))
    return HttpResponse(failure.code, tuple(headers), encoding.encode(failure.to_json()))


# ------------------------------------------------------------------------- which verb where


def _custom(call: Call) -> Outcome:
    found, kind = call.route, call.type.kind
    if kind.namespaced != bool(found.namespace) and (
        found.namespace or found.verb not in _ACROSS_NAMESPACES
    ):
        return _NOT_SERVED
    if found.subresource and found.subresource not in subresources(call.type):
        raise call.not_found()
    return _act(call)


def _builtin(call: Call) -> Outcome:
    found, kind = call.route, call.type.kind
    own_namespace = (kind.group, kind.plural) == ("", "namespaces")
    if bool(found.namespace) != kind.namespaced and not own_namespace:
        if not kind.namespaced or found.name:
            raise unknown_resource()
        if found.verb not in _ACROSS_NAMESPACES:
            raise method_not_allowed()
    if found.subresource:
        if found.subresource not in subresources(call.type):
            raise unknown_resource()
    elif found.verb not in call.type.verbs or (
        (found.verb == "create") == bool(found.name) and found.verb in {"create", "update", "patch"}
    ):
        raise method_not_allowed()
    return _act(call)


def subresources(resource_type: ResourceType) -> tuple[str, ...]:
    """The subresources of a type, by name."""
    listed = list(resource_type.subresources)
    if resource_type.status:
        listed.append("status")
    if resource_type.scale is not None:
        listed.append("scale")
    return tuple(listed)


def _act(call: Call) -> Outcome:
    form = negotiate(call.request.headers.get("accept", ""), call.route.verb)
    subresource = call.route.subresource
    if subresource and call.route.verb not in _SUBRESOURCE_VERBS:
        raise _unsupported(call)
    if subresource == "scale" and call.type.scale is not None:
        return _scale(call, form)
    match call.route.verb:
        case "get":
            return _get(call, form)
        case "list":
            return _list(call, form)
        case "watch":
            return open_watch(call, form)
        case "create":
            return _object(call, form, create(call), 201)
        case "update":
            record, created = replace(call, subresource)
            return _object(call, form, record, 201 if created else 200)
        case "patch":
            record, created = patch(call, subresource)
            return _object(call, form, record, 201 if created else 200)
        case "delete":
            return _delete(call, form)
        case "deletecollection":
            return _answer_page(call, form, delete_collection(call))
        case _:
            raise _unsupported(call)


def _unsupported(call: Call) -> Failure:
    if not call.type.custom:
        return method_not_allowed()
    kind = call.type.kind
    return verb_not_supported(call.route.verb, kind.plural, kind.group)


def _scale(call: Call, form: Form) -> HttpResponse:
    match call.route.verb:
        case "get":
            scale = get_scale(call)
        case "update":
            scale = replace_scale(call)
        case "patch":
            scale = patch_scale(call)
        case _:
            raise _unsupported(call)
    return HttpResponse(200, _headers(call, form), encode(form, scale))


# ------------------------------------------------------------------------- answers


def _headers(call: Call, form: Form) -> tuple[tuple[str, str], ...]:
    return (("content-type", form.content_type), *_warnings(call.warnings))


def _warnings(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    return (("warning", f"299 - {_quoted(text)}") for text in texts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _object(call: Call, form: Form, record: Record, status: int) -> HttpResponse:
    if form == PLAIN:
        return HttpResponse(status, _headers(call, form), views.encoded(call.type, record))
    if form.shape.startswith("Partial"):
        body = encode(form, partial(form, views.shown(call.type, record)))
        return HttpResponse(status, _headers(call, form), body)
    body = render(form, views.encoded(call.type, record))
    return HttpResponse(status, _headers(call, form), body)


def _get(call: Call, form: Form) -> Outcome:
    version = call.query.get("resourceVersion", "")
    if version:
        waiting = _await_version(call, version)
        if waiting is not None:
            return waiting
    record = call.core.store.get(call.type.stored_as, call.key)
    if record is None:
        raise call.not_found()
    return _object(call, form, record, 200)


def _await_version(call: Call, version: str) -> WaitFor | None:
    if not version.isdigit():
        raise internal(
            f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": '
            "invalid syntax"
        )
    number, current = parse_version(version), call.core.store.revision
    return WaitFor(number, too_large(number, current)) if number > current else None


def _list(call: Call, form: Form) -> Outcome:
    page = list_page(call)
    if isinstance(page, WaitFor):
        return page
    return _answer_page(call, form, page)


def _answer_page(call: Call, form: Form, page: Page) -> HttpResponse:
    return HttpResponse(200, _headers(call, form), render(form, _list_body(call, form, page)))


def _list_body(call: Call, form: Form, page: Page) -> bytes:
    kind, custom = call.type.kind, call.type.custom
    api_version, list_kind = kind.api_version, call.type.list_kind or f"{kind.kind}List"
    if form.shape.startswith("Partial"):
        list_kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{form.version}"
        items = [
            encoding.encode(partial(form, views.shown(call.type, record)))
            for record in page.records
        ]
        custom = False
    else:
        items = [views.encoded_item(call.type, record) for record in page.records]
    head = {"kind": list_kind, "apiVersion": api_version, "metadata": page.metadata(custom=custom)}
    return encoding.encode(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _delete(call: Call, form: Form) -> HttpResponse:
    record, gone = delete(call)
    if gone and not call.type.strategy.answers_deleted_object:
        body = encode(form, success(call, record.value))
        return HttpResponse(200, _headers(call, form), body)
    return _object(call, form, record, 200)

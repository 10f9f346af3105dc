"""Run the verb of a call, and turn its result into a response in the form that the client accepts.

The modules for patches and scales are imported with the first request that needs them, because many
servers never get one.
"""

from collections.abc import Callable, Iterable, Mapping

from myrmidon.api.requests.transport import HttpResponse
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import (
    Failure,
    internal,
    method_not_allowed,
    verb_not_supported,
)
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.requests.outcomes import Outcome, WaitFor
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.create import create
from myrmidon.apiserver.verbs.delete import delete, delete_collection, success
from myrmidon.apiserver.verbs.list import (
    ListPage,
    list_page,
    parse_version,
    too_large,
    version_problem,
)
from myrmidon.apiserver.verbs.reviews import is_review, review
from myrmidon.apiserver.verbs.subresources import action
from myrmidon.apiserver.verbs.tables import table_of_object, table_of_page, table_of_scale
from myrmidon.apiserver.verbs.update import replace
from myrmidon.apiserver.verbs.warning_headers import warning_headers
from myrmidon.apiserver.verbs.watch import open_watch
from myrmidon.apiserver.wire.negotiation import (
    PLAIN,
    Form,
    at_version,
    encode,
    negotiate,
    partial,
    render,
)

Verb = Callable[[Call, Form], Outcome]


def act(call: Call) -> Outcome:
    """Run the verb of a call.  The handler has checked that the resource and subresource exist."""
    form = negotiate(
        call.request.headers.get("accept", ""),
        call.route.verb,
        custom=call.type.custom,
        stored=call.type.verbs != ("create",),
    )
    subresource = call.route.subresource
    perform = action(call) if subresource and not call.type.custom else None
    if perform is not None:
        return perform(call)
    verbs = _VERBS if not subresource else _SCALE_VERBS if subresource == "scale" else _OTHER_VERBS
    verb = verbs.get(call.route.verb)
    if verb is None:
        raise _unsupported(call)
    return verb(call, form)


def _unsupported(call: Call) -> Failure:
    if not call.type.custom:
        return method_not_allowed()
    kind = call.type.kind
    return verb_not_supported(call.route.verb, kind.plural, kind.group)


def failed(failure: Failure, warnings: Iterable[str] = (), form: Form = PLAIN) -> HttpResponse:
    """Return a failure as a response."""
    headers = [("content-type", form.content_type), *warning_headers(warnings)]
    if failure.retry_after is not None:
        headers.append(("retry-after", str(failure.retry_after)))
    return HttpResponse(failure.code, tuple(headers), encode(form, failure.to_json()))


def _headers(call: Call, form: Form) -> tuple[tuple[str, str], ...]:
    return (("content-type", form.content_type), *warning_headers(call.warnings))


def _object(call: Call, form: Form, record: Record, status: int = 200) -> HttpResponse:
    if form == PLAIN:
        return HttpResponse(status, _headers(call, form), representation.encoded(call.type, record))
    if form.shape == "Table":
        body = encode(form, at_version(form, table_of_object(call, record)))
        return HttpResponse(status, _headers(call, form), body)
    if form.shape:
        body = encode(form, partial(form, representation.shown(call.type, record)))
        return HttpResponse(status, _headers(call, form), body)
    body = render(form, representation.encoded(call.type, record))
    return HttpResponse(status, _headers(call, form), body)


def _get(call: Call, form: Form) -> Outcome:
    version = call.query.get("resourceVersion", "")
    if version:
        waiting = _await_version(call, version)
        if waiting is not None:
            return waiting
    return _object(call, form, call.stored(), 200)


def _await_version(call: Call, version: str) -> WaitFor | None:
    problem = version_problem(version)
    if problem:
        raise internal(f"resourceVersion: {problem}")
    number, current = parse_version(version), call.core.store.revision
    return WaitFor(number, too_large(number, current)) if number > current else None


def _list(call: Call, form: Form) -> Outcome:
    page = list_page(call)
    if isinstance(page, WaitFor):
        return page
    return _answer_page(call, form, page)


def _answer_page(call: Call, form: Form, page: ListPage) -> HttpResponse:
    representation.read_together(call.type, page.records)
    return HttpResponse(200, _headers(call, form), render(form, _list_body(call, form, page)))


def _list_body(call: Call, form: Form, page: ListPage) -> bytes:
    if form.shape == "Table":
        return go_json.encode(at_version(form, table_of_page(call, page)))
    kind, custom = call.type.kind, call.type.custom
    api_version, list_kind = kind.api_version, call.type.list_kind or f"{kind.kind}List"
    if form.shape:
        list_kind, api_version = "PartialObjectMetadataList", f"meta.k8s.io/{form.version}"
        items = [
            go_json.encode(partial(form, representation.shown(call.type, record)))
            for record in page.records
        ]
        custom = False
    else:
        items = [representation.encoded_item(call.type, record) for record in page.records]
    metadata = page.metadata(custom=custom, shard_info=not custom and not form.shape)
    head = {"kind": list_kind, "apiVersion": api_version, "metadata": metadata}
    return go_json.encode(head)[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _delete(call: Call, form: Form) -> HttpResponse:
    record, gone = delete(call)
    if gone and not call.type.strategy.answers_deleted_object:
        body = encode(form, success(call, record.value))
        return HttpResponse(200, _headers(call, form), body)
    return _object(call, form, record, 200)


# ------------------------------------------------------------------------- verbs


def _create(call: Call, form: Form) -> Outcome:
    if is_review(call):
        return HttpResponse(201, _headers(call, form), encode(form, review(call)))
    return _object(call, form, create(call), 201)


def _update(call: Call, form: Form) -> Outcome:
    record, created = replace(call, call.route.subresource)
    return _object(call, form, record, 201 if created else 200)


def _patch(call: Call, form: Form) -> Outcome:
    from myrmidon.apiserver.verbs.patch import patch  # noqa: PLC0415

    record, created = patch(call, call.route.subresource)
    return _object(call, form, record, 201 if created else 200)


def _delete_collection(call: Call, form: Form) -> Outcome:
    return _answer_page(call, form, delete_collection(call))


def _scale(call: Call, form: Form) -> Outcome:
    from myrmidon.apiserver.verbs import scale  # noqa: PLC0415

    answer = scale.VERBS[call.route.verb](call)
    if form.shape == "PartialObjectMetadata":
        answer = partial(form, answer)
    elif form.shape == "Table":
        answer = at_version(form, table_of_scale(call, answer))
    return HttpResponse(200, _headers(call, form), encode(form, answer))


_OTHER_VERBS: Mapping[str, Verb] = {"get": _get, "update": _update, "patch": _patch}
_SCALE_VERBS: Mapping[str, Verb] = {"get": _scale, "update": _scale, "patch": _scale}
_VERBS: Mapping[str, Verb] = {
    **_OTHER_VERBS,
    "list": _list,
    "watch": open_watch,
    "create": _create,
    "delete": _delete,
    "deletecollection": _delete_collection,
}

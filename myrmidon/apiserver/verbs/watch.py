"""Open a watch as the query asks for it.

Without a resourceVersion, or with ``0``, the watch starts with ADDED events for all existing
objects; with one, after that revision.  ``sendInitialEvents`` decides explicitly, and then a
bookmark ends the initial events if bookmarks are allowed.
"""

from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import internal
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.requests.outcomes import WaitFor
from myrmidon.apiserver.requests.routing import is_true
from myrmidon.apiserver.requests.watches import Encoder, OpenWatch
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.apiserver.store import Record
from myrmidon.apiserver.verbs.list import check_version_match, too_large, version_problem
from myrmidon.apiserver.verbs.options import parse_int
from myrmidon.apiserver.verbs.selectors import read_selection
from myrmidon.apiserver.verbs.tables import TableEncoder
from myrmidon.apiserver.wire.negotiation import Form, partial


def open_watch(call: Call, form: Form) -> OpenWatch | WaitFor:
    """Return the watch that the query asks for, or a wait for its resourceVersion."""
    query = call.query
    check_version_match(call)
    selection = read_selection(call)
    version = query.get("resourceVersion", "")
    problem = version_problem(version) if version else ""
    if problem:
        raise internal(f"resourceVersion: {problem}")
    number = int(version or 0)
    store = call.core.store
    send_initial = query.get("sendInitialEvents")
    parse_int(query, "limit")
    seconds = parse_int(query, "timeoutSeconds")
    if is_true(send_initial) and number > store.revision:
        return WaitFor(number, too_large(number, store.revision))
    watch = OpenWatch(
        store,
        call.type,
        namespace=call.route.namespace,
        name=call.route.name or selection.name(),
        selection=selection,
        cursor=number or store.revision,
        encode=_encoder(call, form),
        bookmarks=is_true(query.get("allowWatchBookmarks")),
        seconds=float(seconds) if seconds else None,
        headers=(("content-type", form.content_type),),
    )
    if form.media == "protobuf":
        _send_frames(watch)
    if is_true(send_initial) or (send_initial is None and not number):
        watch.begin(end_mark=is_true(send_initial) and watch.bookmarks)
    return watch


def _send_frames(watch: OpenWatch) -> None:
    """Let a watch send its events as protobuf, for the typed clients of Go."""
    from myrmidon.apiserver.wire import protobuf  # noqa: PLC0415 - see wire.negotiation

    watch.frame = lambda line: protobuf.frame(go_json.decode(line))
    watch.headers = (("content-type", f"{protobuf.MEDIA_TYPE};stream=watch"),)


def _encoder(call: Call, form: Form) -> Encoder:
    if form.shape == "Table":
        return TableEncoder(call)
    if not form.shape:
        return representation.encoded

    def encode(resource_type: ResourceType, record: Record) -> bytes:
        return go_json.encode(partial(form, representation.shown(resource_type, record)))

    return encode

"""GET of a collection: resourceVersion, pages and consistent snapshots.

Without a resourceVersion a list shows the current state.  All pages of a list with ``limit`` show
the state at the revision of the first page, which the continue token holds together with the last
key; the store rebuilds that state from its history.  If the history no longer reaches back that
far, the response is a 410, with a token that continues at the current state instead.  A
resourceVersion that the store has not reached yet is waited for (``WaitFor``).
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.shard_selectors import ShardRange, write_shard_selector
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.causes import forbidden, not_supported
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, bad_request
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.requests.outcomes import WaitFor
from myrmidon.apiserver.resources import representation
from myrmidon.apiserver.resources.selection import Selection
from myrmidon.apiserver.store import CompactedError, Record
from myrmidon.apiserver.verbs.options import options_failure, parse_int
from myrmidon.apiserver.verbs.selectors import read_selection

_VERSION_MAX = 2**64 - 1
_VERSION_DIGITS_MAX = 100  # int() of a very long string is slow
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a "
    "new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list "
    "- objects that were created, modified, or deleted between the time the first chunk was returned "
    "and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list."""

    records: list[Record]
    revision: int
    next_token: str = ""
    remaining: int | None = None
    shards: tuple[ShardRange, ...] = ()

    def metadata(self, *, custom: bool, shard_info: bool = False) -> Json:
        """Return the metadata of the list.

        ``shard_info`` adds the shard selector that was applied.  The real server does so only in
        plain lists of built-in kinds, not for custom resources, tables and partial objects.
        """
        meta: Json = {"resourceVersion": str(self.revision)}
        if custom or self.next_token:
            meta["continue"] = self.next_token
        if self.remaining:
            meta["remainingItemCount"] = self.remaining
        if shard_info and self.shards:
            meta["shardInfo"] = {"selector": write_shard_selector(self.shards)}
        return meta


def list_page(call: Call) -> ListPage | WaitFor:
    """Return the page of objects that the query asks for, or a wait for its resourceVersion."""
    limit = parse_int(call.query, "limit") or 0
    parse_int(call.query, "timeoutSeconds")
    check_version_match(call)
    selection = read_selection(call)
    token = call.query.get("continue", "")
    version = call.query.get("resourceVersion", "")
    if version == "0":
        limit = 0  # the real server answers from its cache, without pages
    if token:
        return _continued(call, selection, token, limit, version)
    at, wait = _revision(call, version, limit)
    if wait is not None:
        return wait
    return _page(call, selection, at, limit, after="")


def _revision(call: Call, version: str, limit: int) -> tuple[int | None, WaitFor | None]:
    """Return the revision to list at (None: the current one), or the revision to wait for."""
    number = parse_version(version)
    if not number:
        return None, None
    store = call.core.store
    if number > store.revision:
        return None, WaitFor(number, too_large(number, store.revision))
    match = call.query.get("resourceVersionMatch", "")
    if match == "Exact" or (not match and limit > 0):
        if number < store.compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        return number, None
    return None, None


def parse_version(version: str) -> int:
    """Return the number of a resourceVersion, 0 if empty; raise a 400 if it is malformed."""
    if not version:
        return 0
    problem = version_problem(version)
    if problem:
        raise bad_request(problem)
    return int(version)


def version_problem(version: str) -> str:
    """Return the problem of a resourceVersion that is not a 64-bit number, or ``""``."""
    if not (version.isascii() and version.isdigit()):
        problem = "invalid syntax"
    elif len(version) > _VERSION_DIGITS_MAX or int(version) > _VERSION_MAX:
        problem = "value out of range"
    else:
        return ""
    return f'Invalid value: "{version}": strconv.ParseUint: parsing "{version}": {problem}'


def too_large(wanted: int, current: int) -> Failure:
    """Return the 504 for a revision that the store did not reach in time."""
    return Failure(
        504,
        "Timeout",
        f"Too large resource version: {wanted}, current: {current}",
        causes=[StatusCause("", "ResourceVersionTooLarge", "Too large resource version")],
        retry_after=1,
    )


def expired(message: str) -> Failure:
    """Return the 410 for a revision that is older than the history."""
    return Failure(410, "Expired", message, details=False)


def check_version_match(call: Call) -> None:
    """Raise a 422 if the resourceVersion parameters of a list or watch contradict each other."""
    query = call.query
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    initial, paged = "sendInitialEvents" in query, bool(query.get("continue"))
    if call.route.verb == "watch":
        causes = _watch_causes(match, initial=initial)
    else:
        causes = _list_causes(match, version, paged=paged) if match else []
        if initial:
            causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise options_failure("ListOptions", causes)


_MATCH = "resourceVersionMatch"
_PAGED = "resourceVersionMatch is forbidden when continue is provided"


def _watch_causes(match: str, *, initial: bool) -> list[StatusCause]:
    causes: list[StatusCause] = []
    if initial and match != "NotOlderThan":
        problem = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(forbidden(_MATCH, problem))
    if match and not initial:
        problem = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden(_MATCH, problem))
    if match and match != "NotOlderThan":
        causes.append(not_supported(_MATCH, match, ["NotOlderThan"]))
    return causes


def _list_causes(match: str, version: str, *, paged: bool) -> list[StatusCause]:
    causes: list[StatusCause] = []
    if not version:
        problem = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(forbidden(_MATCH, problem))
    if paged:
        causes.append(forbidden(_MATCH, _PAGED))
    if match not in {"Exact", "NotOlderThan"}:
        causes.append(not_supported(_MATCH, match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and version == "0":
        problem = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(forbidden(_MATCH, problem))
    return causes


def _page(call: Call, selection: Selection, at: int | None, limit: int, after: str) -> ListPage:
    store, resource_type = call.core.store, call.type
    records = store.scan(resource_type.stored_as, resource_type.prefix(call.route.namespace), at=at)
    revision = store.revision if at is None else at
    if after:
        records = [record for record in records if record.key > after]
    if limit <= 0:
        return ListPage(_selected(call, selection, records), revision, shards=selection.shards)
    # A page has a token if any object follows it, even if none of them matches the selectors.
    page = list(islice(_matching(call, selection, records), limit))
    behind = len(records) - records.index(page[-1]) - 1 if len(page) == limit else 0
    if not behind:
        return ListPage(page, revision, shards=selection.shards)
    token = _token(revision, page[-1].key)
    # With shards the real server counts the objects of other shards before and after the page.
    remaining = len(records) - len(page) if selection.counts_the_rest else None
    return ListPage(page, revision, token, remaining, selection.shards)


def _selected(call: Call, selection: Selection, records: list[Record]) -> list[Record]:
    return records if selection.is_everything else list(_matching(call, selection, records))


def _matching(call: Call, selection: Selection, records: list[Record]) -> Iterator[Record]:
    matches, resource_type = selection.matches, call.type
    for record in records:
        if selection.is_everything or matches(
            resource_type, representation.shown(resource_type, record)
        ):
            yield record


def _token(revision: int, last: str) -> str:
    token = {"v": "meta.k8s.io/v1", "rv": revision, "start": f"{last}\0"}
    return base64.urlsafe_b64encode(go_json.encode(token)).decode().rstrip("=")


def _continued(call: Call, selection: Selection, token: str, limit: int, version: str) -> ListPage:
    if version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    revision, start = _read_token(token)
    at = None if revision < 0 else revision
    try:
        return _page(call, selection, at, limit, start)
    except CompactedError:
        failure = expired(_EXPIRED)
        failure.continue_token = _token(-1, start)
        raise failure from None


def _read_token(token: str) -> tuple[int, str]:
    try:
        read = go_json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, binascii.Error):
        read = None
    match read:
        case {"v": "meta.k8s.io/v1", "rv": int(revision), "start": str(start)}:
            return revision, start.removesuffix("\0")
        case _:
            raise bad_request("continue key is not valid: illegal base64 data or JSON")

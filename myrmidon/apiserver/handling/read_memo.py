"""Answer a list from memory if the same objects were listed before at the same revision.

Every process lists each of its kinds when it starts, and every run of a simulator starts processes on a
server that was rolled back to the same checkpoint.  The answer to a list depends on the request, its user,
the served definitions, the revision of the store, and the records that it reads; the store notes these in
a ``Journal``.  Records are values, and after a rollback they are the same objects, so they are compared by
identity, which costs nearly nothing.

Not kept: watches, answers about an earlier revision, and what ``memo`` does not keep either.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.requests.call import Core
from myrmidon.apiserver.requests.outcomes import Outcome
from myrmidon.apiserver.store import Journal, ObjectStore

KEPT_MAX = 512
SIZE_MAX = 64 * 1024  # of an answer; larger ones are not kept


class ReadMemo:
    """The answers to earlier reads, the latest last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, tuple[HttpResponse, Journal]] = OrderedDict()
        self.hits = self.misses = 0

    def answer(
        self, core: Core, request: HttpRequest, user: User | None, work: Callable[[], Outcome]
    ) -> Outcome:
        """Return the answer to a read: from memory, or else what ``work`` returns."""
        store = core.store
        key = (
            request.path,
            request.query,
            tuple(request.headers.items()),
            user,
            type(core.authorizer),
            core.registry.custom,
            core.feature_gates,
            store.revision,
        )
        known = self._kept.get(key)
        if known is not None and _holds(known[1], store):
            self.hits += 1
            return known[0]
        self.misses += 1
        store.journal = journal = Journal()
        try:
            outcome = work()
        finally:
            store.journal = None
        if isinstance(outcome, HttpResponse) and journal.is_whole and len(outcome.body) <= SIZE_MAX:
            self._kept[key] = (outcome, journal)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return outcome


def _holds(journal: Journal, store: ObjectStore) -> bool:
    """Whether the store has the very records that were read."""
    for (resource, key), record in journal.gets.items():
        if store.get(resource, key) is not record:
            return False
    for (resource, prefix), records in journal.scans.items():
        if not records and not store.count(resource):
            continue
        found = store.scan(resource, prefix)
        if len(found) != len(records):
            return False
        for one, other in zip(found, records, strict=True):
            if one is not other:
                return False
    return True


SHARED_READS = ReadMemo()

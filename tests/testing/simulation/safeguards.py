"""Functions that switch off one safeguard of the framework each, by a patch.

Each replaces one function of the framework by one without the safeguard.  It is a patch of a test and never an
option: a user cannot switch a safeguard off.
"""

from dataclasses import replace
from typing import Any

import pytest

from myrmidon.api.objects.accessors import finalizers_of
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.errors import NotFoundError
from myrmidon.errors import api as api_errors
from myrmidon.fsm.engine import ACTED
from myrmidon.fsm.external import ledger
from myrmidon.fsm.status import status
from myrmidon.io.client import Client
from myrmidon.io.http.fence import FencedTransport
from myrmidon.io.lists.scope import Scope
from myrmidon.io.watch import actions as watch_actions
from myrmidon.io.watch import protocol
from myrmidon.io.watch.cache import Cache
from myrmidon.io.writes import applicator
from myrmidon.io.writes.output_task import OutputTask
from myrmidon.io.writes.own_writes import OwnWrites
from myrmidon.runtime.queue.backoff import Backoff
from myrmidon.runtime.reconcile import (
    external,
    finalizer_edits,
    output_writer,
    passes,
    status_writer,
    tracked_children,
)
from myrmidon.sets import planning
from myrmidon.sets.outputs.outputs import Delete
from myrmidon.sets.ownership import owner_references


def old_lists(patch: pytest.MonkeyPatch) -> None:
    """Let lists accept data of any age."""
    listed = Scope.list_request

    def anyhow(self: Scope, **options: Any) -> Any:
        request = listed(self, **options)
        return request._replace(query=(*request.query, ("resourceVersion", "0")))

    patch.setattr(Scope, "list_request", anyhow)
    patch.setattr(protocol.Watching, "_list", lambda _self: watch_actions.List())


def no_monotonic_guard(patch: pytest.MonkeyPatch) -> None:
    """Take events that are older than the cached object."""
    patch.setattr("myrmidon.io.watch.cache.version_in", lambda _entry: -1)
    patch.setattr(protocol.Watching, "_is_replay", lambda _self, _version: False)


def no_own_writes(patch: pytest.MonkeyPatch) -> None:
    """Do not put own writes into the cache."""
    patch.setattr(Cache, "record_write", lambda _self, _obj, **_by: None)


def unknown_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Do not read an object live after a write without a clear answer."""
    patch.setattr(OwnWrites, "mark_unknown", lambda _self, _ref: None)


def delete_by_name(patch: pytest.MonkeyPatch) -> None:
    """Delete without the uid as precondition."""
    real = Client.send

    def by_name(self: Any, request: Request, **options: Any) -> Any:
        if request.verb is Verb.DELETE and isinstance(request.body, dict):
            body = {key: value for key, value in request.body.items() if key != "preconditions"}
            request = request._replace(body=body)
        return real(self, request, **options)

    patch.setattr(Client, "send", by_name)


def take_what_others_own(patch: pytest.MonkeyPatch) -> None:
    """Write objects that another controller owns."""
    patch.setattr(planning, "refuse_others", lambda *_given: None)


def no_finalizer_first(patch: pytest.MonkeyPatch) -> None:
    """Do not set the finalizer before the first effect."""

    async def skipped(_subject: Any) -> Any:
        return ACTED

    patch.setattr(passes, "ensure_finalizer", skipped)
    patch.setattr(tracked_children, "ensure_finalizer", skipped)


def release_at_once(patch: pytest.MonkeyPatch) -> None:
    """Remove the finalizer before the children are gone."""

    async def skipped(*_given: Any) -> Any:
        return ACTED

    patch.setattr(passes, "delete_children", skipped)


def believe_the_cache(patch: pytest.MonkeyPatch) -> None:
    """Take a child that the cache does not have for gone."""

    async def cached(subject: Any, flush: Any) -> Any:
        seen = [
            ref
            for ref in dict.fromkeys(subject.children())
            if subject.deps.objects.get(ref) is not None
        ]
        return await flush([Delete(ref) for ref in seen], "finalizer") if seen else ACTED

    patch.setattr(passes, "delete_children", cached)


def whole_finalizers(patch: pytest.MonkeyPatch) -> None:
    """Replace the whole list of finalizers."""

    def merged(ref: Any, obj: Any, wanted: list[str]) -> Request:
        body = {"metadata": {"finalizers": wanted}}
        return Request(Verb.PATCH, ref, body, patch=Patch.MERGE)

    def add(ref: Any, obj: Any, finalizer: str) -> Request:
        return merged(ref, obj, [*finalizers_of(obj), finalizer])

    def remove(ref: Any, obj: Any, finalizer: str) -> Request:
        return merged(ref, obj, [one for one in finalizers_of(obj) if one != finalizer])

    patch.setattr(finalizer_edits, "add_finalizer", add)
    patch.setattr(finalizer_edits, "remove_finalizer", remove)


def no_records(patch: pytest.MonkeyPatch) -> None:
    """Do not record children before they are created."""

    async def skipped(_subject: Any, _tracked: Any) -> None:
        return None

    patch.setattr(output_writer, "record_children", skipped)


def tokens_change(patch: pytest.MonkeyPatch) -> None:
    """Use another token for each attempt to create an external resource."""
    drawn = iter(range(10**6))
    patch.setattr(ledger, "token_of", lambda uid, name, _number: f"{uid} {name} {next(drawn)}")
    real = external._Run._create

    async def fresh(self: Any, create: Any) -> Any:
        token = f"fresh {next(drawn)}"
        return await real(self, replace(create, entry=replace(create.entry, token=token)))

    patch.setattr(external._Run, "_create", fresh)


def no_doubt(patch: pytest.MonkeyPatch) -> None:
    """Believe at once that an external resource is absent."""
    patch.setattr(ledger, "_look_again", lambda *_given: None)


def write_always(patch: pytest.MonkeyPatch) -> None:
    """Send a patch for each output, also if it would change nothing."""
    real = planning.plan

    def always(output: Any, current: Any, parent: Any, **options: Any) -> Any:
        request = real(output, current, parent, **options)
        if request is None and current is not None:
            body = {"metadata": {"labels": current["metadata"].get("labels") or {}}}
            return Request(Verb.PATCH, output.ref, body, patch=Patch.MERGE)
        return request

    patch.setattr(applicator, "plan", always)
    patch.setattr(applicator.Applicator, "_holds", lambda *_given: False)
    patch.setattr(OutputTask, "is_settled", lambda *_given: False)


def times_move(patch: pytest.MonkeyPatch) -> None:
    """Set lastTransitionTime with each status."""
    real = status._condition

    def moving(kind: str, said: Any, old: Any, generation: int, now: Any) -> Any:
        return real(kind, said, None, generation, now)

    patch.setattr(status, "_condition", moving)


def latest_generation(patch: pytest.MonkeyPatch) -> None:
    """After a conflict, claim the generation that was read last for a decision on an older one."""
    real = status_writer.send_status

    async def claiming(subject: Any, place: Any, make: Any) -> None:
        def latest(obj: Any) -> Any:
            made = make(obj)
            now = obj["metadata"]["generation"]
            conditions = [{**one, "observedGeneration": now} for one in made["conditions"]]
            return {**made, "observedGeneration": now, "conditions": conditions}

        await subject.refresh()
        await real(subject, place, latest)

    patch.setattr(status_writer, "send_status", claiming)


def forbidden_is_not_found(patch: pytest.MonkeyPatch) -> None:
    """Take 403 for 404."""
    patch.setitem(api_errors._BY_STATUS, 403, NotFoundError)


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """Send writes after the lease has ended."""

    async def unfenced(self: Any, request: Any, *, deadline: float | None = None) -> Any:
        return await self._inner.send(request, deadline=deadline)

    patch.setattr(FencedTransport, "send", unfenced)


def any_owner(patch: pytest.MonkeyPatch) -> None:
    """Allow owner references across namespaces."""
    patch.setattr(owner_references, "_check_reach", lambda *_given: None)


def no_idle_deadline(patch: pytest.MonkeyPatch) -> None:
    """Wait for ever for the events of a watch."""
    patch.setattr(protocol, "Timing", lambda **_given: _ENDLESS)
    real = protocol.Watching.__init__

    def endless(self: Any, *given: Any, **options: Any) -> None:
        real(self, *given, **options)
        self._timing = _ENDLESS

    patch.setattr(protocol.Watching, "__init__", endless)


_ENDLESS = protocol.Timing(idle_seconds=10.0**9)


def no_backoff(patch: pytest.MonkeyPatch) -> None:
    """Retry at once after each failure."""
    patch.setattr(Backoff, "failed", lambda _self, _key, _revision=0: 0.01)


def no_deletes_from_lists(patch: pytest.MonkeyPatch) -> None:
    """Keep cached objects that a new list lacks."""
    real = Cache._sweep

    def lazy(self: Any, version: int) -> Any:
        self._unlisted = {}
        return real(self, version)

    patch.setattr(Cache, "_sweep", lazy)


def no_new_list(patch: pytest.MonkeyPatch) -> None:
    """After 410, go on watching from the newest version without a list."""

    def blind(self: Any) -> Any:
        return watch_actions.WatchFrom("", 300) if self._number > 0 else watch_actions.List()

    patch.setattr(protocol.Watching, "_list", blind)


def drop_all_changes(patch: pytest.MonkeyPatch) -> None:
    """Take all changes of children for own writes."""
    patch.setattr(OwnWrites, "is_own", lambda _self, _key, change: change.ref.kind.kind != "Thing")

"""KeptWrites: the writes of one pass, as its record keeps them.

Nearly every pass writes objects that are not Secrets, and every write is answered.  The writes of such a
pass are kept in one piece: the heads of the requests, the authors of the outputs, and the objects
before and after each write as one JSON text.  All of it is made by functions that are written in C, so
a pass with many writes costs hardly more than one with a single write.

A pass with a refusal, a Secret or an effect outside the cluster is kept write by write instead.  Of a
Secret only the names of the changed fields are kept, and a refusal without the value that the server
may quote in it.

``wrotes`` and ``bodies`` make of both what a person reads.
"""

from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

import orjson

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, finalizers_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Verb
from myrmidon.io.writes.sent_writes import SentWrite, state_in
from myrmidon.runtime.observability.change_log import fields_of
from myrmidon.runtime.observability.snapshot import Wrote
from myrmidon.runtime.observability.under_way import PassUnderWay
from myrmidon.runtime.reconcile.external_effects import ExternalEffect

_WRITE_BYTES = 500
_request, _author, _answer = itemgetter(2), itemgetter(1), itemgetter(4)
_head, _kind, _objects = (
    attrgetter("verb", "ref", "subresource", "patch"),
    attrgetter("ref.kind"),
    itemgetter(3, 4),
)
_dumps, _SECRET = orjson.dumps, kinds.SECRET

Bodies: TypeAlias = tuple[Json | None, Json | None]
"""The object before and after a write; None where it does not exist or is not kept."""


class _OneByOne(NamedTuple):
    """The writes of a pass that needed a look at each of them, with the time 0."""

    wrotes: tuple[Wrote, ...]


KeptWrites: TypeAlias = tuple[tuple[Any, ...] | _OneByOne, tuple[str, ...], bytes, int]
"""The heads of the requests, the authors of the outputs, the bodies as JSON, and about how much memory
all of it holds."""

NONE: KeptWrites = ((), (), b"[]", 0)
_THEN = datetime.min.replace(tzinfo=UTC)


def kept_writes(under_way: PassUnderWay) -> KeptWrites:
    """Return the writes of a pass as they are kept."""
    writes: Any = under_way.writes
    if ExternalEffect not in map(type, writes):
        requests = [*map(_request, writes)]
        if None not in map(_answer, writes) and _SECRET not in map(_kind, requests):
            text = _text([*map(_objects, writes)])
            size = len(text) + _WRITE_BYTES * len(requests)
            return tuple(map(_head, requests)), tuple(map(_author, writes)), text, size
    found = [_looked_at(one, under_way.turn.key) for one in writes]
    text = _text([bodies for _, bodies in found])
    size = len(text) + sum(_WRITE_BYTES + len(wrote.error) for wrote, _ in found)
    return _OneByOne(tuple(wrote for wrote, _ in found)), (), text, size


def wrotes(kept: KeptWrites, at: datetime) -> tuple[Wrote, ...]:
    """Return the writes of a pass that ended at ``at``, in the order of their answers."""
    heads, authors, texts, _bytes = kept
    if isinstance(heads, _OneByOne):
        return tuple(one.ended(at) for one in heads.wrotes)
    found = []
    for number, ((verb, ref, part, patch), author) in enumerate(zip(heads, authors, strict=True)):
        if patch is Patch.JSON and not part:
            part = _part(*orjson.loads(texts)[number])  # noqa: PLW2901 - completed
        found.append(Wrote(at, verb.value, ref, part, state=state_in(author)))
    return tuple(found)


def bodies(kept: KeptWrites) -> list[Bodies]:
    """Return the objects before and after each write."""
    found: list[Bodies] = orjson.loads(kept[2])
    return found


def _text(found: list[Bodies]) -> bytes:
    """Return the bodies as JSON; without their objects if a state put another value into one."""
    try:
        return _dumps(found)
    except TypeError:
        return _dumps([(None, None)] * len(found))


def _looked_at(one: Any, key: ObjectRef) -> tuple[Wrote, Bodies]:
    if isinstance(one, ExternalEffect):
        named = " ".join(filter(None, (one.external, one.id)))
        return Wrote(_THEN, one.verb, key, unknown=one.unknown, external=named), (None, None)
    sent = SentWrite(*one)
    _by, _of, request, before, answer, error, unknown = sent
    ref, part, fields, shown = request.ref, request.subresource, tuple[str, ...](), (before, answer)
    if request.patch is Patch.JSON and not part:
        part = _part(before, answer)
    if ref.kind == _SECRET:
        error, fields = _without_value(error), fields_of(sent) if answer is not None else ()
    if answer is None or request.verb is Verb.DELETE or ref.kind == _SECRET:
        shown = (None, None)
    wrote = Wrote(_THEN, request.verb.value, ref, part, error, sent.state, unknown, fields)
    return wrote, shown


def _part(before: Json | None, after: Json | None) -> str:
    """Return what a JSON patch changed: the finalizers, or the annotation with the status."""
    kept = finalizers_of(before or {}), finalizers_of(after or {})
    return "finalizer" if kept[0] != kept[1] else "status"


def _without_value(said: str) -> str:
    text, quoted, _ = said.partition("Invalid value:")
    return f"{text}{quoted} (not shown)" if quoted else said

"""Stalls: detect a field that another writer changes back after each of our writes.

Two writers that do not agree about a field (another controller, an autoscaler, a GitOps tool, an
admission webhook, two states of one controller) would overwrite each other forever.  ``Stalls``
notices that, and decides when to write and when to wait.  The applicator calls it for each output:

- ``wrote``: after a write that changed an existing object.  The difference between the object
  before and after shows which fields were not as declared.  A field that differed before the
  previous write as well has been changed back in between: that is one reversal.
- ``check``: before a write.  It returns None, or a ``ContestedFields`` with the time to wait.
- ``held``: when the object is as declared, so that nothing has to be written.

After ``REPEATS_MAX`` reversals of a field the output is stalled.  From then on it is written
once a minute, then after 2, 4, 8 and at most every 10 minutes.  It stays stalled after such a
write until the object has been as declared for ``HOLD_SECONDS``; then its counts are dropped.  So
a stall ends soon after the other writer has stopped.  The limits are those of ``stall_times``.

What is not a reversal:

- a difference under another declaration: the parent or the controller has changed;
- a difference that comes later than ``WINDOW_SECONDS`` after the previous write;
- a value that the field did not have before in this series, unless it came within a second: a
  person who tries one value after another is not a program that insists on one;
- a refused, repeated or unanswered write, and one that changed nothing: ``wrote`` is not called.

The state of an output that was not written for ``KEEP_SECONDS`` is dropped.  After a restart all
counts begin at zero.  That is safe: stalling only limits how often objects are written.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.sets.stalls.stall_times import (
    HOLD_SECONDS,
    KEEP_SECONDS,
    REPEATS_MAX,
    is_series_over,
    next_delay,
)

Field: TypeAlias = tuple[str, ...]
KeyT = TypeVar("KeyT", bound=Hashable)

_RAPID_SECONDS = 1.0
_VALUES_MAX = 16
_FIELDS_MAX = 64
# The metadata that clients write.  The other metadata is not compared, and the status only if a
# request declared it.
_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")


class ContestedFields(NamedTuple):
    """The fields of a stalled output that another writer changes back."""

    fields: tuple[Field, ...]
    seconds: float  # until the next write or check
    others: str | None  # the other field managers; None until they are known


@dataclass(slots=True)
class _Contest:
    """How often one field was changed back, and the hashes of its values before our writes."""

    reversals: int = 0
    values: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Series:
    """The writes of one output under one declaration."""

    declaration: int
    written_at: float
    fields: dict[Field, _Contest] = field(default_factory=dict)
    delay: float = 0.0
    stalled: bool = False
    others: str | None = None

    @property
    def contested(self) -> tuple[Field, ...]:
        return tuple(
            name for name, contest in self.fields.items() if contest.reversals >= REPEATS_MAX
        )


class Stalls(Generic[KeyT]):
    """Decides for each output whether it may be written now or has to wait."""

    def __init__(self) -> None:
        self._series: dict[KeyT, _Series] = {}  # in the order of their last writes
        self.stalled: dict[KeyT, None] = {}
        """The outputs that are stalled; while it is empty, ``held`` need not be called."""
        self.delayed: dict[KeyT, None] = {}
        """The outputs whose writes are delayed; while it is empty, ``check`` need not be called."""

    def begins(self, key: KeyT, declaration: int, now: float) -> bool:
        """Record a write and return True if it is the first one under this declaration.

        Such a write cannot be a reversal, so it need not be compared with the object before it.
        """
        self.expire(now)
        series = self._series.get(key)
        if series is not None and not self._is_over(series, declaration, now):
            return False
        if series is not None:
            if series.delay:
                self.forget([key])
            else:  # then it is neither stalled nor delayed
                del self._series[key]
        self._series[key] = _Series(declaration, now)
        return True

    def wrote(
        self,
        key: KeyT,
        declaration: int,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        now: float,
        *,
        declared: Mapping[str, Any] | None = None,
    ) -> ContestedFields | None:
        """Record a write that changed an existing object; return its stall, if it is not over.

        ``declaration`` is a hash of what was declared.  ``declared`` limits the comparison to the
        fields that the request carried.
        """
        if self.begins(key, declaration, now):
            return None
        series = self._series[key] = self._series.pop(key)  # the last in the order of writes
        self._count(series, before, after, declared, now)
        if series.delay:
            self.delayed[key] = None
        return self._stall(series, HOLD_SECONDS) if series.stalled else None

    def check(self, key: KeyT, declaration: int, now: float) -> ContestedFields | None:
        """Return the stall for which a write has to wait; None if it may be sent now."""
        series = self._series.get(key)
        if series is None or not series.delay:
            return None
        if self._is_over(series, declaration, now):
            self.forget([key])
            return None
        series.stalled = True
        self.stalled[key] = None
        left = series.written_at + series.delay - now
        return self._stall(series, left) if left > 0 else None

    def held(self, key: KeyT, declaration: int, now: float) -> ContestedFields | None:
        """Record that the object is as declared; return its stall, if it is not over.

        It is over when the object has been as declared for ``HOLD_SECONDS`` after the last write.
        """
        series = self._series.get(key)
        if series is None or not series.stalled:
            return None
        left = series.written_at + HOLD_SECONDS - now
        if left <= 0 or self._is_over(series, declaration, now):
            self.forget([key])
            return None
        return self._stall(series, left)

    def blame(self, key: KeyT, others: str) -> None:
        """Record the field managers that change the fields back, for later messages."""
        self._series[key].others = others

    def forget(self, keys: Iterable[KeyT]) -> None:
        """Forget these outputs."""
        for key in keys:
            self._series.pop(key, None)
            self.stalled.pop(key, None)
            self.delayed.pop(key, None)

    def expire(self, now: float) -> None:
        """Forget the outputs that were not written for ``KEEP_SECONDS``."""
        while self._series:
            oldest = next(iter(self._series))
            if now - self._series[oldest].written_at <= KEEP_SECONDS:
                return
            self.forget([oldest])

    # -------------------------------------------------------------------------- counting

    @staticmethod
    def _is_over(series: _Series, declaration: int, now: float) -> bool:
        if series.declaration != declaration:
            return True
        return is_series_over(series.written_at, series.delay, now)

    @staticmethod
    def _count(
        series: _Series,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        declared: Mapping[str, Any] | None,
        now: float,
    ) -> None:
        rapid = now - series.written_at < _RAPID_SECONDS
        series.written_at = now
        for name, value in changed_fields(before, after, declared):
            if name not in series.fields and len(series.fields) >= _FIELDS_MAX:
                continue
            contest = series.fields.setdefault(name, _Contest())
            digest = hash(repr(value))
            if rapid or digest in contest.values:
                contest.reversals += 1
            contest.values[digest] = None
            if len(contest.values) > _VALUES_MAX:
                del contest.values[next(iter(contest.values))]
        if series.contested:
            series.delay = next_delay(series.delay, waited=series.stalled)

    @staticmethod
    def _stall(series: _Series, seconds: float) -> ContestedFields:
        return ContestedFields(series.contested, seconds, series.others)


def changed_fields(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    declared: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Field, Any]]:
    """Yield the fields that a write changed, each with the value that it had before.

    A list is one field.  With ``declared``, only fields count that it contains, or that are inside
    a field that it declares as a whole.
    """
    for top in {**before, **after}:
        if top == "metadata":
            inner = [_part(obj, top) for obj in (before, after)]
            limit = None if declared is None else _part(declared, top)
            for part in _METADATA:
                yield from _changed((top, part), inner[0].get(part), inner[1].get(part), limit)
        elif top == "status":
            if declared is not None and top in declared:  # a write to the status subresource
                yield from _changed((top,), before.get(top), after.get(top), declared)
        elif top not in ("apiVersion", "kind"):
            yield from _changed((top,), before.get(top), after.get(top), declared)


def _changed(
    name: Field, before: Any, after: Any, around: Mapping[str, Any] | None
) -> Iterator[tuple[Field, Any]]:
    """Yield the changed fields at and below ``name``.

    ``around`` is the declared object that contains the last part of ``name``; None for no limit.
    """
    if around is not None and name[-1] not in around:
        return
    declared = None if around is None else around[name[-1]]
    if isinstance(before, dict) and isinstance(after, dict):
        limit = declared if isinstance(declared, dict) else None
        for key in {**before, **after}:
            yield from _changed((*name, key), before.get(key), after.get(key), limit)
    elif not same(before, after):
        yield name, before


def _part(obj: Mapping[str, Any], name: str) -> Json:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def field_text(name: Field) -> str:
    """Return a field as people write it: ``spec.replicas``, ``metadata.labels[example.com/a]``."""
    text = ""
    for part in name:
        if "." in part or "/" in part:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text

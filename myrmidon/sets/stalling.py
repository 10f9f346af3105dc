"""Stalls: the same field is written, changed back and written again, without end.

Two writers that do not agree about a field (another controller, an autoscaler, a GitOps tool, an
admission webhook, two states of one controller) would write it in turns for ever.  ``Stalls``
notices, and decides when to write and when to wait.  It is fed with three events of each output:

- ``wrote``: a write changed an existing object.  The difference between the object before and after
  it says which fields were not as declared.  A field that was different before the previous write
  as well has been changed back in between: one reversal.
- ``check``: a write is due.  The answer is None, or a ``ContestedFields``: wait so long before the next one.
- ``held``: nothing is to be written.

After ``_REVERSALS_MAX`` reversals of a field the output is stalled.  From then on it is written
once a minute, then after 2, 4, 8 and at most every 10 minutes.  It stays stalled after such a
write until the write has lasted for ``_HOLD_SECONDS``; then all is forgotten.  So a stall ends by
itself soon after the other writer has stopped.

What is not a reversal:

- a difference under another declaration: the parent or the controller has changed its mind;
- a difference that comes later than ``_WINDOW_SECONDS`` after the previous write;
- a value that the field did not have before in this series, unless it came within a second: a person
  who tries one value after the other is not a machine that insists on one;
- a refused, repeated or unanswered write, and one that changed nothing: it is not fed.

Nothing is kept about an output that was not written for ``_KEEP_SECONDS``.  After a restart all counts
begin at zero; this is a damper, and no result depends on it.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from myrmidon.api.objects import Json
from myrmidon.patch.merge_patch import same

Field: TypeAlias = tuple[str, ...]
KeyT = TypeVar("KeyT", bound=Hashable)

_REVERSALS_MAX = 5
_WINDOW_SECONDS = 600.0
_RAPID_SECONDS = 1.0
_HOLD_SECONDS = 10.0
_DELAY_SECONDS_MIN, _DELAY_SECONDS_MAX = 60.0, 600.0
_KEEP_SECONDS = 2 * _DELAY_SECONDS_MAX
_VALUES_MAX = 16
_FIELDS_MAX = 64
# Of the metadata, only what clients write; the rest and the status are the server's.
_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")


class ContestedFields(NamedTuple):
    """Why an output is not written, or not settled: these fields are changed back."""

    fields: tuple[Field, ...]
    seconds: float  # until the next look
    others: str | None  # who changes them back; None until that was found out


@dataclass(slots=True)
class _Contest:
    """One field: how often it was changed back, and to which values."""

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
            name for name, contest in self.fields.items() if contest.reversals >= _REVERSALS_MAX
        )


class Stalls(Generic[KeyT]):
    """Decides for each output whether it is written or waited with."""

    def __init__(self) -> None:
        self._series: dict[KeyT, _Series] = {}  # in the order of their last writes
        self.stalled: dict[KeyT, None] = {}
        """The outputs that are stalled; if it is empty, ``held`` need not be asked."""

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
        """Take note of a write that changed an existing object.

        ``declared`` limits the comparison to fields that the request carried.  Returns the stall
        that is not over yet, although the output was written.
        """
        self.expire(now)
        series = self._series.pop(key, None)
        if series is None or self._is_over(series, declaration, now):
            self.stalled.pop(key, None)
            series = _Series(declaration, now)  # which fields it changed is not needed yet
        else:
            self._count(series, before, after, declared, now)
        self._series[key] = series
        return self._stall(series, _HOLD_SECONDS) if series.stalled else None

    def check(self, key: KeyT, declaration: int, now: float) -> ContestedFields | None:
        """Answer whether a write that is due must wait."""
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
        """Take note that the object is as declared; a stall is over when that has lasted."""
        series = self._series.get(key)
        if series is None or not series.stalled:
            return None
        left = series.written_at + _HOLD_SECONDS - now
        if left <= 0 or self._is_over(series, declaration, now):
            self.forget([key])
            return None
        return self._stall(series, left)

    def blame(self, key: KeyT, others: str) -> None:
        """Remember who changes the fields back, so that every message says the same."""
        self._series[key].others = others

    def forget(self, keys: Iterable[KeyT]) -> None:
        """Forget these outputs."""
        for key in keys:
            self._series.pop(key, None)
            self.stalled.pop(key, None)

    def expire(self, now: float) -> None:
        """Forget the outputs that were not written lately."""
        while self._series:
            oldest = next(iter(self._series))
            if now - self._series[oldest].written_at <= _KEEP_SECONDS:
                return
            self.forget([oldest])

    # ---------------------------------------------------------------------------- inside

    @staticmethod
    def _is_over(series: _Series, declaration: int, now: float) -> bool:
        if series.declaration != declaration:
            return True
        return now - series.written_at > max(_WINDOW_SECONDS, 2 * series.delay)

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
            doubled = 2 * series.delay if series.stalled else 0.0
            series.delay = min(max(doubled, _DELAY_SECONDS_MIN), _DELAY_SECONDS_MAX)

    @staticmethod
    def _stall(series: _Series, seconds: float) -> ContestedFields:
        return ContestedFields(series.contested, seconds, series.others)


def changed_fields(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    declared: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Field, Any]]:
    """Yield the fields that a write changed, each with the value that it had before.

    A list is one field.  With ``declared``, only fields that it holds, or lies inside of, count.
    """
    for top in {**before, **after}:
        if top == "metadata":
            inner = [_part(obj, top) for obj in (before, after)]
            limit = None if declared is None else _part(declared, top)
            for part in _METADATA:
                yield from _changed((top, part), inner[0].get(part), inner[1].get(part), limit)
        elif top not in ("status", "apiVersion", "kind"):
            yield from _changed((top,), before.get(top), after.get(top), declared)


def _changed(
    name: Field, before: Any, after: Any, around: Mapping[str, Any] | None
) -> Iterator[tuple[Field, Any]]:
    """``around`` is the declared object that should hold the last part of the name."""
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

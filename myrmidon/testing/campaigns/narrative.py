"""The steps of a run: when, who, what was sent, what the server did, what the controller believed.

The trace of a run holds requests, deliveries and notes.  A ``NarrativeStep`` is one of them in a plain
sentence, with the lane in which a timeline draws it; the terminal and the HTML page show the same steps.

What a controller believed is computed from the trace alone: for each process, the version of each object
that its lists and watch events have shown so far.  When a process writes while the server already holds
a newer version of an object that the process knows, the step says which version it believed in.  That is
the difference between a wrong decision and a right decision on old data.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.embedded import USER
from myrmidon.testing.simulation.result import SimulationResult
from myrmidon.testing.simulation.story import told
from myrmidon.testing.simulation.trace import Delivered, Exchanged, Happened, Trace

Entry: TypeAlias = Exchanged | Delivered | Happened
_TIME_WIDTH = len(f"{0:9.3f} s  ")
_VALUE_MAX = 60
_LISTED_MAX = 5
_USER = {"create": "created", "patch": "changed", "delete": "deleted"}
_OMITTED_KINDS = ("Lease", "Event")


@dataclass(frozen=True, slots=True)
class NarrativeStep:
    """One step of a run."""

    at: float
    lane: str
    """``user``, ``controller-0``, ``server``, ``watch of controller-0`` or ``fault``."""
    text: str
    incarnation: int = 0
    did: str = ""
    """What the server did with a request."""
    believed: tuple[str, ...] = ()
    """What the controller believed, where the server already knew better."""
    is_error: bool = False


def narrated(result: SimulationResult) -> list[NarrativeStep]:
    """Return the steps of a run: writes, lists, watch events, faults and steps of the user; no Leases."""
    beliefs = _Beliefs(_versions(result.trace))
    edits = iter(result.facts.steps if result.facts is not None else ())
    steps: list[NarrativeStep] = []
    for entry in result.trace.entries:
        if isinstance(entry, Happened) and entry.who == USER:
            steps.append(NarrativeStep(entry.at, USER, _wanted(entry, next(edits, None))))
            continue
        if isinstance(entry, Exchanged) and entry.subject.verb == "list":
            steps += _listed(entry)
        steps += [_step(entry, sentence, beliefs) for sentence in _sentences(entry)]
        beliefs.learn(entry)
    return steps


def _wanted(entry: Happened, step: tuple[str, str, Json] | None) -> str:
    """Return what the user did, with the fields that were sent."""
    text = f"{_USER.get(entry.what, entry.what)} {entry.detail}"
    if step is None or step[0] != entry.what:
        return text
    sent = step[2].get("spec", {})
    said = ", ".join(f"{name}: {_short(value)}" for name, value in sent.items())
    return f"{text}, spec: {said}" if said else text


def _short(value: object) -> str:
    written = orjson.dumps(value).decode()
    return written if len(written) <= _VALUE_MAX else f"{written[:_VALUE_MAX]}..."


def _listed(entry: Exchanged) -> Iterator[NarrativeStep]:
    """Return a list that a process read: what it knows after a start."""
    if entry.subject.kind in _OMITTED_KINDS:
        return
    names = [f"{key[2]} (version {version})" for key, version, _ in _objects_in(entry)]
    more = [f"{len(names) - _LISTED_MAX} more"] if len(names) > _LISTED_MAX else []
    said = ", ".join([*names[:_LISTED_MAX], *more]) or "there is none"
    lane = f"watch of controller-{entry.process}"
    yield NarrativeStep(entry.at, lane, f"listed {entry.subject.kind}: {said}", entry.incarnation)


def _sentences(entry: Entry) -> Iterable[str]:
    """Return an entry in the words of ``story``, without the time."""
    if isinstance(entry, Delivered) and entry.kind in _OMITTED_KINDS:
        return []
    one = Trace()
    one.entries.append(entry)
    return [line[_TIME_WIDTH:] for line in told(one)]


def _step(entry: Entry, sentence: str, beliefs: "_Beliefs") -> NarrativeStep:
    match entry:
        case Exchanged():
            who = f"controller-{entry.process}"
            text = sentence.removeprefix(f"{who} ")
            return NarrativeStep(
                entry.at, who, text, entry.incarnation, _did(entry), tuple(beliefs.old(entry)),
                is_error=not entry.outcome.startswith("2") or "," in entry.outcome,
            )  # fmt: skip
        case Delivered():
            who = f"controller-{entry.process}"
            text = sentence.removeprefix(f"{who} ")
            return NarrativeStep(entry.at, f"watch of {who}", text, entry.incarnation)
        case _:
            lane = "fault" if entry.who == "fault" else entry.who
            text = sentence.removeprefix("FAULT ").removeprefix(f"{entry.who} ")
            return NarrativeStep(entry.at, lane, text)


def _did(entry: Exchanged) -> str:
    """Return what the server did with a write."""
    if entry.answer is None:
        return "the server never received it"
    if entry.revision != entry.before:
        return f"the server stored version {entry.revision}"
    return "the server refused it" if entry.answer.status >= 400 else "nothing changed"


# ------------------------------------------------------------------------------ beliefs

_Key: TypeAlias = tuple[str, str, str]  # kind, namespace, name


@dataclass(slots=True)
class _Beliefs:
    """Which version of each object every process has seen so far."""

    versions: dict[_Key, dict[int, Json]]
    seen: dict[tuple[int, _Key], int] = field(default_factory=dict)
    told: set[tuple[int, _Key, int]] = field(default_factory=set)

    def learn(self, entry: Entry) -> None:
        if isinstance(entry, Happened):
            return
        for key, version, _ in _objects_in(entry):
            self.seen[entry.incarnation, key] = max(
                version, self.seen.get((entry.incarnation, key), 0)
            )

    def old(self, entry: Exchanged) -> Iterator[str]:
        """Return where a process acts on a version that is not the last one."""
        if not entry.subject.counts:
            return
        for (incarnation, key), version in self.seen.items():
            if incarnation != entry.incarnation:
                continue
            known = self.versions[key]
            newest = max((each for each in known if each <= entry.before), default=0)
            if newest <= version or (incarnation, key, newest) in self.told:
                continue
            self.told.add((incarnation, key, newest))
            yield (
                f"it believed in {key[0]} {key[2]} of {_described(known.get(version), version)}; "
                f"the server had {_described(known[newest], newest)}"
            )


def _described(meta: Json | None, version: int) -> str:
    generation = (meta or {}).get("generation")
    return f"version {version}" + (f" (generation {generation})" if generation else "")


def _versions(trace: Trace) -> dict[_Key, dict[int, Json]]:
    """Return every version of each object that the trace shows, with its metadata."""
    found: dict[_Key, dict[int, Json]] = {}
    for entry in trace.entries:
        if not isinstance(entry, Happened):
            for key, version, meta in _objects_in(entry):
                found.setdefault(key, {})[version] = meta
    return found


def _objects_in(entry: Exchanged | Delivered) -> Iterator[tuple[_Key, int, Json]]:
    """Return the objects that an entry showed to its process."""
    if isinstance(entry, Delivered):
        content, kind = entry.line, entry.kind
    elif entry.answer is not None and entry.answer.status < 300 and "," not in entry.outcome:
        content, kind = entry.answer.body, entry.subject.kind
    else:
        return
    if kind in _OMITTED_KINDS:
        return
    try:
        document = orjson.loads(content)
    except ValueError:
        return
    items = document.get("items")
    objects = items if isinstance(items, list) else [document.get("object", document)]
    for obj in objects:
        meta = obj.get("metadata") if isinstance(obj, dict) else None
        version = str((meta or {}).get("resourceVersion", ""))
        if meta and meta.get("name") and version.isdigit():
            yield (kind, str(meta.get("namespace", "")), str(meta["name"])), int(version), meta


def lanes_of(steps: Iterable[NarrativeStep]) -> list[str]:
    """Return the lanes of a run, in the order in which a timeline draws them."""
    there = {step.lane for step in steps}
    controllers = sorted(lane for lane in there if lane.startswith("controller-"))
    watches = sorted(lane for lane in there if lane.startswith("watch of "))
    rest = sorted(there - {USER, "fault", *controllers, *watches})
    found = [USER, *controllers, "server", *watches, *rest]
    return [lane for lane in found if lane in there or lane == "server"]

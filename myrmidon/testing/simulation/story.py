"""The story of a run in plain sentences: when, who, what was sent, what the server did."""

from collections.abc import Iterator

import orjson

from myrmidon.testing.simulation.requests import name_in
from myrmidon.testing.simulation.trace import Delivered, Exchanged, Happened, Trace

_LINES_MAX = 200
_DONE = {"create": "created", "update": "updated", "patch": "changed", "delete": "deleted"}


def told(trace: Trace) -> list[str]:
    """Return a sentence for each step that matters: reads and Leases are left out."""
    lines = [line for entry in trace.entries for line in _sentences(entry)]
    left = len(lines) - _LINES_MAX
    return [f"... {left} earlier lines", *lines[-_LINES_MAX:]] if left > 0 else lines


def _sentences(entry: Exchanged | Delivered | Happened) -> Iterator[str]:
    at = f"{entry.at:9.3f} s  "
    match entry:
        case Happened(_, "fault", what, detail):
            yield f"{at}FAULT {what}" + (f", at: {detail}" if detail else "")
        case Happened(_, who, what, detail):
            yield f"{at}{who} {what} {detail}".rstrip()
        case Exchanged() if entry.subject.counts:
            yield f"{at}controller-{entry.process} {_sent(entry)}"
        case Delivered():
            yield f"{at}controller-{entry.process} {_seen(entry)}"
        case _:
            return


def _sent(entry: Exchanged) -> str:
    subject = entry.subject
    answered = entry.answer.body if entry.answer is not None else b""
    name = name_in(subject, entry.request, answered)
    what = f"the {subject.subresource} of " if subject.subresource else ""
    status = entry.outcome
    if status in ("200", "201"):
        return f"{_DONE.get(subject.verb, subject.verb)} {what}{subject.kind} {name}"
    said = ""
    if entry.answer is not None and entry.answer.status >= 400:
        said = f" ({_message(entry.answer.body)})"
    return f"sent: {subject.verb} {what}{subject.kind} {name}; answer: {status}{said}"


def _message(body: bytes) -> str:
    try:
        return str(orjson.loads(body).get("message", ""))
    except ValueError:
        return ""


def _seen(entry: Delivered) -> str:
    try:
        event = orjson.loads(entry.line)
        meta = event["object"]["metadata"]
    except (ValueError, KeyError):
        return f"got an event about a {entry.kind}"
    parts = [f"learned that {entry.kind} {meta.get('name')} was {str(event['type']).lower()}"]
    if meta.get("generation"):
        parts.append(f"generation {meta['generation']}")
    parts.append(f"version {meta.get('resourceVersion')}")
    return ", ".join(parts)

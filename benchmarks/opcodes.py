"""Counts the instructions that the Python interpreter executes, by the part of the process they are for.

Other load on the machine does not change the numbers, so they show small differences between two
versions of the code.  They do not show what C code costs: orjson, pydantic, httptools, OpenSSL.

An instruction belongs to the part that called the code: ``dict`` helpers that a pass uses count for the
pass.  The part of a call is that of the nearest caller that is listed in ``_PARTS``:

    passes     the workers: queue, states, planning, the client down to the transport, own writes
    events     the reflectors: decoding watch events, caches, which objects they wake
    loop       asyncio itself
    server     the embedded API server and the test kit, which are not counted anywhere else
"""

import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

_PARTS: "Parts" = (
    ("/myrmidon/testing/harness/turns.py", "loop"),
    ("/myrmidon/apiserver/", "server"),
    ("/myrmidon/testing/", "server"),
    ("/myrmidon/io/watch/reflector.py", "events"),
    ("/myrmidon/runtime/reconcile/worker.py", "passes"),
)
PARTS = ("passes", "events", "loop")


Parts: TypeAlias = tuple[tuple[str, str], ...]
"""What decides the part of a call: a piece of "file function", and the part; the first one counts."""


class Where(NamedTuple):
    """A function, and the part of the process that called it."""

    part: str
    file: str
    function: str


def count(
    act: Callable[[], object], decide: Parts = _PARTS, left_out: str = "server"
) -> Counter[Where]:
    """Call ``act`` and return the number of instructions of each function, but for those of one part."""
    counts: Counter[Where] = Counter()
    parts: dict[CodeType, str] = {}

    def trace(frame: FrameType, _event: str, _arg: Any) -> Any:
        part = _part_of(frame, parts, decide) or left_out
        if part == left_out:
            return None
        where = Where(part, frame.f_code.co_filename, frame.f_code.co_qualname)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False

        def step(_frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "opcode":
                counts[where] += 1
            return step

        return step

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(None)
    return counts


def by_part(counts: Counter[Where]) -> Counter[str]:
    """Return the sum of each part."""
    sums: Counter[str] = Counter()
    for where, number in counts.items():
        sums[where.part] += number
    return sums


def _part_of(frame: FrameType, parts: dict[CodeType, str], decide: Parts) -> str:
    """Return the part of the nearest caller that decides it; ``parts`` remembers what each code says."""
    at: FrameType | None = frame
    while at is not None:
        part = parts.get(at.f_code)
        if part is None:
            part = parts[at.f_code] = _own_part(at.f_code, decide)
        if part:
            return part
        at = at.f_back
    return ""  # the benchmark itself


def _own_part(code: CodeType, decide: Parts) -> str:
    named = f"{code.co_filename} {code.co_qualname}"
    for piece, part in decide:
        if piece in named:
            return part
    return "loop" if code.co_qualname == "BaseEventLoop._run_once" else ""

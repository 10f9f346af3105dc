"""How many passes over converged objects does one core do?  ``python -m benchmarks.passes``.

Everything is cached and nothing is to be done: the whole way from the queue through the worker, the
states, the comparison with the cache and the status back to the queue, with metrics.  Not one
request is sent, and the benchmark checks that.

``--opcodes`` counts the instructions that the Python interpreter executes for one pass.  Other load on
the machine does not change that number, so it shows small differences between two versions of the code;
it does not show what the C code of orjson and pydantic costs.
"""

import argparse
import sys
import time
from types import FrameType
from typing import Any

from benchmarks.widget import Widget, Widgets, WidgetSpec
from myrmidon.fsm.context import Cause
from myrmidon.runtime.loop import ControllerLoop
from myrmidon.runtime.queue.queue import Urgency
from myrmidon.testing import Harness

PASSES_PER_SECOND_MIN = 4000
_RESYNC = Cause("resync")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--opcodes", action="store_true")
    args = parser.parse_args()
    with Harness(Widgets()) as cluster:
        for number in range(args.objects):
            cluster.apply(Widget(name=f"w{number:04d}", spec=WidgetSpec(value="one")))
        cluster.settle()
        _round(cluster)
        if args.opcodes:
            print(f"{opcodes(cluster) / args.objects:.0f} opcodes per pass")
            return
        before = len(cluster.transport.log)
        rates = sorted(args.objects / _round(cluster) for _ in range(args.rounds))
        assert len(cluster.transport.log) == before, "a converged object costs no request"
    print(f"passes over {args.objects} converged Widgets, {args.rounds} rounds, one core, CPU time")
    print(f"{'':>8}  {'passes/s':>9}  {'us/pass':>8}")
    for name, rate in (
        ("worst", rates[0]),
        ("median", rates[len(rates) // 2]),
        ("best", rates[-1]),
    ):
        print(f"{name:>8}  {rate:>9.0f}  {1e6 / rate:>8.0f}")
    print(f"{'wanted':>8}  {PASSES_PER_SECOND_MIN:>9}")


def opcodes(cluster: Harness) -> int:
    """Count the instructions of one pass over every object, without those of an idle ``settle``."""
    counted = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes = True
        counted += event == "opcode"
        return trace

    counts: list[int] = []
    for queue in (_queue_all, lambda _cluster: None):
        queue(cluster)
        counted = 0
        sys.settrace(trace)
        cluster.settle()
        sys.settrace(None)
        counts.append(counted)
    return counts[0] - counts[1]


def _queue_all(cluster: Harness) -> None:
    loop: ControllerLoop = cluster.manager.loops[0]
    for obj in loop.view.list(Widget.KIND):
        ref = Widget.from_json(obj).ref
        loop.pool.add(ref, cause=_RESYNC, urgency=Urgency.BACKGROUND)


def _round(cluster: Harness) -> float:
    """Run a pass over every object; return its CPU seconds."""
    _queue_all(cluster)
    began = time.process_time()
    cluster.settle()
    return time.process_time() - began


if __name__ == "__main__":
    main()

"""How many passes over converged objects does one core do?  ``python -m benchmarks.passes``.

Everything is cached and nothing is to be done: the whole way from the queue through the worker, the
states, the comparison with the cache and the status back to the queue, with metrics.  Not one
request is sent, and the benchmark checks that.

``--opcodes`` counts instructions of the Python interpreter instead (``benchmarks.opcodes``): of a pass
over a converged object, of the pass that makes the three ConfigMaps and the status of a new object, and
of the pass after a change of the spec.  The last two include the client down to the transport, and the
watch events of the object and of the controller's own writes.

``--trace`` does the same with the recorder of passes switched on (``ManagerOptions.trace``): what it costs
is the difference.
"""

import argparse
import time
from functools import partial

from benchmarks.opcodes import PARTS, by_part, count
from benchmarks.widget import Widget, Widgets, WidgetSpec
from myrmidon import ManagerOptions
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.request import Patch
from myrmidon.fsm.context import Cause
from myrmidon.runtime.controller.loop import ControllerLoop
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
    parser.add_argument("--trace", action="store_true")
    args = parser.parse_args()
    with Harness(Widgets(), options=ManagerOptions(seed=0, trace=args.trace)) as cluster:
        for number in range(args.objects):
            cluster.apply(Widget(name=f"w{number:04d}", spec=WidgetSpec(value="one")))
        cluster.settle()
        _round(cluster)
        if args.opcodes:
            print_opcodes(cluster, args.objects)
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


def print_opcodes(cluster: Harness, objects: int) -> None:
    """Print the instructions for each object, by job and by part of the process."""
    print(f"{'':>10}  " + "  ".join(f"{part:>7}" for part in (*PARTS, "total")))
    for job, act, requests in (
        ("converged", _queue_all, 0),
        ("new", partial(_create, objects=objects), 4),
        ("changed", partial(_change, objects=objects), 4),
    ):
        act(cluster)
        before = len(cluster.transport.log)
        counts = by_part(count(cluster.settle))
        sent = (len(cluster.transport.log) - before) / objects
        assert sent == requests, f"{job}: {sent} requests for each object instead of {requests}"
        counts.subtract(by_part(count(cluster.settle)))  # an idle one
        each = [counts[part] / objects for part in PARTS]
        print(f"{job:>10}  " + "  ".join(f"{number:>7.0f}" for number in (*each, sum(each))))


def _create(cluster: Harness, objects: int) -> None:
    """Create more Widgets on the server itself, so that no client runs."""
    for number in range(objects):
        problem = cluster.server.create(
            Widget(name=_new(number), spec=WidgetSpec(value="one")).to_json()
        )
        assert not problem, problem


def _change(cluster: Harness, objects: int) -> None:
    for number in range(objects):
        ref = ObjectRef(Widget.KIND, _new(number), "default")
        response = cluster.server.request(
            "PATCH", object_path(ref), {"spec": {"value": "two"}}, content_type=Patch.MERGE.value
        )
        assert response.status == 200, response.body


def _new(number: int) -> str:
    return f"new{number:04d}"


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

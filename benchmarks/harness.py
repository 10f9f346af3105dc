"""How many scenario runs per second does the test kit manage?  ``python -m benchmarks.harness``.

One run is a whole test: a new embedded server with all simulated parts of a cluster, a new manager, the WebApps of
the examples with one object that is created, changed and deleted, and the controllers settle after each of
these.  That is 14 writes of the controller; the server's own actors (deployments, pods, garbage collector)
send about 40 more.

The first table has the rate of whole runs without any measurement inside.  The second one is from further
runs with stopwatches around the parts, whose own cost is included, so it shows where the time goes, not how
fast it is.  Each part has the time that was spent in it and in no other part.

``--profile`` prints the functions with the most CPU time of their own instead.  ``--seconds`` is the length of
each measurement, ``--virtual`` lets so many virtual seconds pass at the end of a run.  The runs are inside
``rare_collections``, as those of a simulator would be; ``--default-gc`` leaves the garbage collector as it is.
"""

import argparse
import cProfile
import pstats
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from examples.web_app.controller import WebApp, WebApps, WebAppSpec
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.testing import Harness
from myrmidon.testing.harness.garbage import rare_collections

RUNS_PER_SECOND_MIN = 250
_WARM_UP_RUNS = 5
_PASSES = "passes, caches, event loop"


def scenario(virtual_seconds: float = 0.0) -> Harness:
    """Run a WebApp through its life; return the closed harness."""
    with Harness(WebApps()) as cluster:
        cluster.step()
        play(cluster, virtual_seconds)
    return cluster


def play(cluster: Harness, virtual_seconds: float) -> None:
    """Create, change and delete an application, and let the controllers settle after each."""
    spec = WebAppSpec(image="shop:1", hosts=["shop.example.com"])
    cluster.apply(WebApp(name="shop", spec=spec))
    cluster.settle()
    assert cluster.ready(WebApp, "shop")
    cluster.patch(WebApp, "shop", {"spec": {"image": "shop:2", "hosts": ["shop.example.org"]}})
    cluster.settle()
    assert cluster.ready(WebApp, "shop")
    cluster.delete(WebApp, "shop")
    cluster.settle()
    assert cluster.get(WebApp, "shop") is None
    if virtual_seconds:
        cluster.advance(timedelta(seconds=virtual_seconds))


class Stopwatch:
    """Attributes time to the innermost part that is running."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._parts = [""]
        self._since = time.perf_counter()

    def enter(self, part: str) -> None:
        """Begin a part inside the current one."""
        self._switch()
        self._parts.append(part)
        self.calls[part] += 1

    def leave(self) -> None:
        """End the current part and continue the one around it."""
        self._switch()
        self._parts.pop()

    def _switch(self) -> None:
        now = time.perf_counter()
        self.seconds[self._parts[-1]] += now - self._since
        self._since = now

    def around(self, owner: Any, name: str, part: str | Callable[..., str]) -> Callable[[], None]:
        """Measure all calls of a method; return a function that ends it."""
        original = getattr(owner, name)

        def measured(*args: Any, **kwargs: Any) -> Any:
            self.enter(part if isinstance(part, str) else part(*args))
            try:
                return original(*args, **kwargs)
            finally:
                self.leave()

        setattr(owner, name, measured)
        return lambda: setattr(owner, name, original)


def split(runs: int, virtual_seconds: float) -> Stopwatch:
    """Run the scenario with a stopwatch around its parts."""
    watch = Stopwatch()
    undo = [
        watch.around(ApiServer, "__init__", "server start"),
        watch.around(ApiServer, "create", "server start"),
        watch.around(ApiServer, "settle", "server: actors"),
        watch.around(ApiServer, "request", _actor_request),
        watch.around(ApiServer, "answer", _request),
        watch.around(OpenWatch, "take", "watch delivery"),
        watch.around(Harness, "close", "teardown"),
        watch.around(LocalTransport, "_own", "local transport"),
    ]
    try:
        for _ in range(runs):
            watch.enter("harness and manager start")
            cluster = Harness(WebApps())
            cluster.step()
            watch.leave()
            watch.enter(_PASSES)
            play(cluster, virtual_seconds)
            watch.leave()
            cluster.close()
    finally:
        for stop in undo:
            stop()
    return watch


def _request(_server: ApiServer, request: Any, *_: Any) -> str:
    return f"server: {_verb(request.method, dict(request.query))}"


def _actor_request(_server: ApiServer, method: str, *_: Any) -> str:
    return f"server: {_verb(method, {})} of an actor"


def _verb(method: str, query: dict[str, str]) -> str:
    return "watch" if query.get("watch") else method


def rates(seconds: float, virtual_seconds: float) -> list[float]:
    """Return the CPU seconds of each run, for so long."""
    found: list[float] = []
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        began = time.process_time()
        scenario(virtual_seconds)
        found.append(time.process_time() - began)
    return sorted(found)


def main() -> None:
    """Warm up and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--virtual", type=float, default=0.0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--default-gc", action="store_true")
    args = parser.parse_args()
    for _ in range(_WARM_UP_RUNS):
        scenario(args.virtual)
    if not args.default_gc:
        with rare_collections():
            measure(args)
    else:
        measure(args)


def measure(args: argparse.Namespace) -> None:
    """Print the tables, or the profile."""
    if args.profile:
        profile(args.seconds, args.virtual)
        return
    cluster = scenario(args.virtual)
    found = rates(args.seconds, args.virtual)
    mean = sum(found) / len(found)
    print(f"{len(found)} runs with {len(cluster.writes)} writes each, one core, CPU time")
    print(f"{'':>8}  {'runs/s':>7}  {'ms/run':>7}")
    for name, run in (("best", found[0]), ("median", found[len(found) // 2]), ("mean", mean)):
        print(f"{name:>8}  {1 / run:>7.0f}  {run * 1000:>7.2f}")
    print(f"{'wanted':>8}  {RUNS_PER_SECOND_MIN:>7}  {1000 / RUNS_PER_SECOND_MIN:>7.2f}\n")
    runs = max(int(args.seconds / mean / 2), 1)
    watch = split(runs, args.virtual)
    print(f"{'part of a run':<34}  {'calls':>6}  {'ms/run':>7}")
    for part, spent in sorted(watch.seconds.items(), key=lambda each: -each[1]):
        if part:
            print(f"{part:<34}  {watch.calls[part] / runs:>6.1f}  {spent * 1000 / runs:>7.2f}")


def profile(seconds: float, virtual_seconds: float) -> None:
    """Print the functions with the most time of their own."""
    profiler = cProfile.Profile(time.process_time)  # whatever else the machine does
    ends_at = time.perf_counter() + seconds
    while time.perf_counter() < ends_at:
        profiler.runcall(scenario, virtual_seconds)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(70)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(120)


if __name__ == "__main__":
    main()

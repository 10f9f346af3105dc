"""What do dependencies on objects that were read cost?  ``python -m benchmarks.reads_wake``.

10,000 objects read three shared ConfigMaps each.  Measured are the memory per dependency, what a change
of one of them wakes, and the CPU time of an event about a ConfigMap that no object has read: with the
dependencies that reads leave, and with a ``Watch`` that finds its objects by an index, in turn.
"""

import argparse
import gc
import time
import tracemalloc

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.fsm import Context, Controller, Done, Index, Result, Watch, state
from myrmidon.io.watch.changes import Change, Source, encode
from myrmidon.runtime.controller.loop import ControllerLoop
from myrmidon.runtime.wakeups.read_dependencies import Readers
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness

FOREIGN_RATIO_MAX = 1.2
SHARED = 3


class ShopSpec(Model):
    """The ConfigMaps that a Shop reads."""

    first: str
    second: str
    third: str


class Shop(Resource[ShopSpec, Status], group="bench.dev", version="v1"):
    """Reads three ConfigMaps."""


class Reading(Controller[Shop]):
    """Depends on what it reads."""

    reads = (kinds.CONFIG_MAP,)

    @state(initial=True)
    async def configured(self, shop: Shop, _out: OutputSet, ctx: Context) -> Result:
        """Its ConfigMaps were read."""
        for name in (shop.spec.first, shop.spec.second, shop.spec.third):
            await ctx.get(kinds.CONFIG_MAP, name)
        return Done()


def names_in(shop: Json) -> list[str]:
    """Return the names of the ConfigMaps of a Shop."""
    return list(shop["spec"].values())


class Watching(Controller[Shop]):
    """A controller with a watch that maps each ConfigMap to objects."""

    indexes = {Shop: {"config": names_in}}  # noqa: RUF012
    watches = (Watch(kinds.CONFIG_MAP, to=Index("config")),)

    @state(initial=True)
    def configured(self, _shop: Shop, _out: OutputSet) -> Result:
        """It needs no read."""
        return Done()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    print(f"{_bytes_per_dependency(args.objects):.0f} B per dependency, {SHARED} of each object")
    print(
        f"{_bytes_per_dependency(args.objects, apart=True):.0f} B if no two objects read the same"
    )
    with Harness(Reading()) as one, Harness(Watching()) as other:
        for cluster in (one, other):
            _fill(cluster, args.objects)
        print(f"a change of one of them wakes {_woken(one, args.objects)} objects, and no other")
        pairs = [
            (_foreign(one, args.events), _foreign(other, args.events)) for _ in range(args.rounds)
        ]
    reading, watching = (sorted(times)[args.rounds // 2] for times in zip(*pairs, strict=True))
    print(f"an event that concerns no object, CPU time, medians of {args.rounds} rounds in turn")
    print(f"  dependencies  {reading * 1e6:6.1f} us")
    print(f"  Watch, Index  {watching * 1e6:6.1f} us")
    print(f"  ratio         {reading / watching:6.2f}  wanted: at most {FOREIGN_RATIO_MAX}")


def _fill(cluster: Harness, objects: int) -> None:
    for number in range(objects):
        first, second, third = (f"c{(number + step) % 10}" for step in range(SHARED))
        cluster.apply(
            Shop(name=f"s{number}", spec=ShopSpec(first=first, second=second, third=third))
        )
    cluster.settle()


def _woken(cluster: Harness, objects: int) -> int:
    """Change one ConfigMap; return how many objects get a pass, and check that they are the right ones."""
    (loop,) = cluster.manager.loops
    before = _passes(loop)
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c5"}})
    cluster.settle()
    woken = _passes(loop) - before
    expected = sum(number % 10 in (3, 4, 5) for number in range(objects))
    assert woken == expected, f"{woken} objects were woken instead of {expected}"
    return woken


def _passes(loop: ControllerLoop) -> int:
    found: int = loop.reconciler._passes  # noqa: SLF001 - a benchmark may look
    return found


def _foreign(cluster: Harness, events: int) -> float:
    """Return the CPU seconds for each event about a ConfigMap that no object depends on."""
    (loop,) = cluster.manager.loops
    changes = []
    for number in range(events):
        ref = ObjectRef(kinds.CONFIG_MAP, f"foreign-{number}", "default")
        meta = {"name": ref.name, "namespace": ref.namespace, "labels": {"app": "foreign"}}
        obj = {"metadata": meta, "data": {"text": "x" * 500}}
        changes.append(Change(ref, encode(obj, "u", 1), encode(obj, "u", 2), Source.WATCH))
    began = time.process_time()
    for change in changes:
        loop.take(change)
    return (time.process_time() - began) / events


def _bytes_per_dependency(objects: int, *, apart: bool = False) -> float:
    """Return the memory of the dependencies of so many objects; their keys exist anyway."""
    keys = [ObjectRef(Shop.KIND, f"s{number}", "default") for number in range(objects)]
    read = [
        [
            ObjectRef(
                kinds.CONFIG_MAP, f"c{(number, step) if apart else (number + step) % 10}", "default"
            )
            for step in range(SHARED)
        ]
        for number in range(objects)
    ]
    readers, reading = Readers(), None
    gc.collect()
    tracemalloc.start()
    for key, refs in zip(keys, read, strict=True):
        reading = readers.begin(key)
        for ref in refs:
            reading.note(ref, "configured")
        reading.end(complete=True)
    del reading
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert readers.dependencies == objects * SHARED
    return size / readers.dependencies


if __name__ == "__main__":
    main()

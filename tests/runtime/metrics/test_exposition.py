"""Q8: a scrape of many objects is rendered in portions, with the same text as in one piece."""

import asyncio

import pytest
from prometheus_client.exposition import generate_latest

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.metrics.collectors import PORTION
from myrmidon.runtime.metrics.exposition import exposition
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.testing import run
from tests.runtime.things import Thing

STATUSES = ("True", "False", "Unknown")


def filled(objects: int, *, per_object: bool) -> Metrics:
    """Return metrics of so many objects."""
    metrics = Metrics(per_object=per_object)
    for number in range(objects):
        ref = ObjectRef(Thing.KIND, f"it-{number}", "default")
        metrics.readiness_of(ref, STATUSES[number % 3])
        metrics.triggered(Thing.KIND, ref, "create", "self", "thing")
        metrics.recorded(ref, "Normal", f'said "{number % 2}"', "thing")
    return metrics


async def scraped(metrics: Metrics) -> list[bytes]:
    """Return the portions of a scrape."""
    return [text async for text in exposition(metrics)]


@pytest.mark.parametrize("per_object", [True, False])
@pytest.mark.parametrize("objects", [0, 1, PORTION, 2 * PORTION + 1])
def test_portions_say_what_one_piece_would(objects: int, per_object: bool) -> None:
    """Every line appears once, the header of a family before its first series."""
    metrics = filled(objects, per_object=per_object)

    told = b"".join(run(scraped(metrics))).decode().splitlines()
    whole = generate_latest(metrics.registry).decode().splitlines()
    changing = ("process_", "python_gc")  # their values change all the time
    assert sorted(line for line in told if not line.startswith(changing)) == sorted(
        line for line in whole if not line.startswith(changing)
    )
    for name in ("achilles_resource_readiness", "achilles_trigger", "achilles_event"):
        of_family = [line for line in told if name in line.split("{")[0]]
        assert [line.split()[1] for line in of_family[:2]] == ["HELP", "TYPE"]


def test_q8_a_portion_is_small_however_many_objects_there_are() -> None:
    """No portion has more than the series of a hundred objects."""
    portions = run(scraped(filled(20 * PORTION, per_object=True)))[1:]
    assert max(text.count(b"\n") for text in portions) <= 4 * PORTION + 2


def test_a_scrape_goes_on_while_objects_come_and_go() -> None:
    """Changes between two portions break neither."""

    async def main() -> int:
        metrics = filled(5 * PORTION, per_object=True)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(scraped(metrics))
            for number in range(5 * PORTION):
                metrics.forget(ObjectRef(Thing.KIND, f"it-{number}", "default"))
                metrics.readiness_of(ObjectRef(Thing.KIND, f"new-{number}", "default"), "True")
                await asyncio.sleep(0)  # noqa: TID251  gives way
        return len(task.result())

    assert run(main()) > 5

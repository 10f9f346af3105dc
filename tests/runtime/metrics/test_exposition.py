"""Q8: a scrape of many objects is rendered in portions, with the same text as in one piece."""

import asyncio
import gzip
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter, GCCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.runtime.metrics.collectors import PORTION
from myrmidon.runtime.metrics.exposition import exposition, format_of
from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.process.health import metrics_routes, serving
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


OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def told(metrics: Metrics, others: CollectorRegistry | None = None, accept: str = "") -> str:
    """A whole scrape."""

    async def main() -> bytes:
        form = format_of(accept)
        return b"".join([text async for text in exposition(metrics, form, others)])

    return run(main()).decode()


def test_the_metrics_of_the_program_are_served_with_ours() -> None:
    """Each name once: the default registry has process_* as well."""
    others = CollectorRegistry()
    Counter("orders", "Orders.", registry=others).inc()
    GCCollector(registry=others)
    text = told(filled(1, per_object=True), others)

    assert "orders_total 1.0\n" in text
    types = [line for line in text.splitlines() if line.startswith("# TYPE ")]
    assert len(types) == len(set(types))
    assert any("python_gc_objects_collected" in line for line in types)


def test_a_registry_that_is_ours_is_not_served_twice() -> None:
    """A program may have passed Metrics(registry)."""
    metrics = filled(1, per_object=True)
    assert told(metrics, metrics.registry).count("# TYPE achilles_trigger ") == 1


def test_a_broken_metric_of_the_program_does_not_hide_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged with its traceback."""

    class Broken:
        def collect(self) -> list[Metric]:
            raise ValueError("no database")

    others = CollectorRegistry(auto_describe=False)
    others.register(Broken())
    assert "controller_runtime_reconcile_total" in told(filled(1, per_object=True), others)
    assert "a metric of the program cannot be collected" in caplog.text
    assert "no database" in caplog.text


@pytest.mark.parametrize("objects", [0, 1, 2 * PORTION + 1])
def test_open_metrics_is_valid(objects: int) -> None:
    """The parser of the library accepts it: one EOF at the end, every family once."""
    others = CollectorRegistry()
    Counter("orders", "Orders.", registry=others).inc()
    text = told(filled(objects, per_object=True), others, OPEN_METRICS)
    families = {one.name: one for one in parsed(text)}

    assert families["orders"].type == "counter"
    assert families["controller_runtime_reconcile"].type == "counter"
    assert text.endswith("\n# EOF\n")
    if objects:
        assert families["achilles_trigger"].type == "unknown"


def parsed(text: str) -> Iterator[Metric]:
    """The families of a scrape in OpenMetrics; raises where it is not valid."""
    yield from text_string_to_metric_families(text)  # type: ignore[no-untyped-call]


async def _scrape(metrics: Metrics, others: CollectorRegistry, headers: dict[str, str]) -> Any:
    """An HTTP answer: its headers, and its body as it was sent."""
    routes = metrics_routes(metrics, lambda: None, None, others)
    async with serving("127.0.0.1:0", routes) as address:
        client = aiohttp.ClientSession(auto_decompress=False)
        async with client, client.get(f"http://{address}/metrics", headers=headers) as answer:
            return answer.headers, await answer.read()


def test_the_scrape_chooses_format_and_compression() -> None:
    """As Prometheus asks: OpenMetrics first, gzip if it is accepted."""
    others = CollectorRegistry()
    Counter("orders", "Orders.", registry=others).inc()
    asked = {"Accept": f"{OPEN_METRICS},text/plain;q=0.5", "Accept-Encoding": "gzip"}
    headers, body = asyncio.run(_scrape(filled(1, per_object=True), others, asked))
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body).endswith(b"# EOF\n")

    asked = {"Accept": "text/plain", "Accept-Encoding": "identity"}
    headers, body = asyncio.run(_scrape(filled(1, per_object=True), others, asked))
    assert headers["Content-Type"].startswith("text/plain")
    assert "Content-Encoding" not in headers
    assert b"orders_total 1.0\n" in body
    assert b"# EOF" not in body

"""The metrics as Prometheus reads them: names, labels, and series that end with their object."""

from collections.abc import Iterator
from datetime import timedelta

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from myrmidon.fsm import Done, Failed, Result
from myrmidon.fsm.context import Context
from myrmidon.runtime import ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Thing, Things, config_map, thing

KIND = ("group", "version", "kind")
QUEUE = ("name", "controller")

# features.md 3.1 and 3.2: what is on by default, with its labels.
EXPECTED: dict[str, tuple[str, ...]] = {
    "achilles_resource_readiness": (*KIND, "name", "namespace", "type", "status"),
    "achilles_trigger": (*KIND, "reqName", "reqNamespace", "event", "type", "controller"),
    "achilles_state_duration_seconds": (*KIND, "state"),
    "achilles_object_suspended": (*KIND, "name", "namespace"),
    "achilles_processing_duration_seconds": (*KIND, "success"),
    "achilles_event": (*KIND, "objName", "objNamespace", "eventType", "reason", "controller"),
    "controller_runtime_reconcile_total": ("controller", "result"),
    "controller_runtime_reconcile_errors_total": ("controller",),
    "controller_runtime_terminal_reconcile_errors_total": ("controller",),
    "controller_runtime_reconcile_panics_total": ("controller",),
    "controller_runtime_reconcile_timeouts_total": ("controller",),
    "controller_runtime_reconcile_time_seconds": ("controller",),
    "controller_runtime_max_concurrent_reconciles": ("controller",),
    "controller_runtime_active_workers": ("controller",),
    "workqueue_depth": (*QUEUE, "priority"),
    "workqueue_adds_total": QUEUE,
    "workqueue_retries_total": QUEUE,
    "workqueue_queue_duration_seconds": QUEUE,
    "workqueue_work_duration_seconds": QUEUE,
    "workqueue_unfinished_work_seconds": QUEUE,
    "workqueue_longest_running_processor_seconds": QUEUE,
    "rest_client_requests_total": ("code", "method", "host"),
    "rest_client_rate_limiter_duration_seconds": ("verb", "host"),
    "leader_election_master_status": ("name",),
    "myrmidon_writes_total": ("kind", "verb", "outcome"),
    "myrmidon_loop_lag_seconds": (),
    "process_cpu_seconds_total": (),
    "process_resident_memory_bytes": (),
    "python_gc_collections_total": ("generation",),
    "python_info": ("implementation", "major", "minor", "patchlevel", "version"),
}


def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
    """Apply a child, record an event, or fail."""
    if it.spec.value == "bad":
        return Failed("Bad", "no", retry=False)
    out.apply(config_map(it.name))
    ctx.event("Normal", "Applied", "done")
    return Done()


def scrape(cluster: Harness) -> str:
    """Return the response of /metrics."""
    cluster.manager._refresh()
    return generate_latest(cluster.manager.metrics.registry).decode()


def families(text: str) -> Iterator[Metric]:
    """Return the parsed text."""
    return iter(text_string_to_metric_families(text))


def running(**options: object) -> Harness:
    """Run a controller with one good, one failing and one suspended object."""
    chosen = ManagerOptions(seed=0, leader_election=True, client_qps=1000, **options)  # type: ignore[arg-type]
    cluster = Harness(Things(act), options=chosen)
    cluster.apply(thing("good"))
    cluster.apply(thing("bad", value="bad"))
    suspended = thing("still").to_json()
    suspended["metadata"]["labels"] = {"myrmidon.dev/suspend": "true"}
    cluster.apply(suspended)
    cluster.advance(timedelta(seconds=30))
    return cluster


def samples(text: str) -> dict[str, set[tuple[str, ...]]]:
    """Return the names of samples in the text, with the label names of each."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name = line.partition("{")[0].partition(" ")[0]
            labels = tuple(part.partition("=")[0] for part in _labels(line))
            found.setdefault(name, set()).add(labels)
    return found


def _labels(line: str) -> list[str]:
    inside = line.partition("{")[2].rpartition("}")[0]
    return [part for part in inside.split(",") if "=" in part and not part.startswith("le=")]


def test_every_metric_is_there_with_its_labels() -> None:
    """Dashboards for controller-runtime and achilles use exactly these."""
    with running() as cluster:
        text = scrape(cluster)
    found = samples(text)
    for name, labels in EXPECTED.items():
        sample = name if name in found else f"{name}_count"
        assert sample in found, f"{name} is missing"
        assert {tuple(sorted(one)) for one in found[sample]} == {tuple(sorted(labels))}, name


def test_text_is_what_prometheus_reads() -> None:
    """Every family has a type and help, and no sample is repeated."""
    with running() as cluster:
        text = scrape(cluster)
    seen: set[tuple[str, str]] = set()
    for family in families(text):
        assert family.documentation, family.name
        assert family.type != "unknown", family.name
        for sample in family.samples:
            key = (sample.name, str(sorted(sample.labels.items())))
            assert key not in seen
            seen.add(key)


def test_two_counters_have_no_total() -> None:
    """They have the names that achilles exports."""
    with running() as cluster:
        text = scrape(cluster)
    for name in ("achilles_trigger", "achilles_event"):
        assert f"{name}_total" not in text
        assert f"# TYPE {name} counter\n" in text
        assert f"# HELP {name} " in text


def test_values() -> None:
    """One of four readiness series is 1, failures are counted, and the leader has 1."""
    with running() as cluster:
        text = scrape(cluster)
    readiness = {
        (sample.labels["name"], sample.labels["status"]): sample.value
        for family in families(text)
        for sample in family.samples
        if sample.name == "achilles_resource_readiness"
    }
    for name, status in (("good", "True"), ("bad", "False"), ("still", "Unknown")):
        shown = {key[1]: value for key, value in readiness.items() if key[0] == name}
        assert {key for key, value in shown.items() if value == 1.0} == {status}
        assert len(shown) == 4
    assert 'controller_runtime_terminal_reconcile_errors_total{controller="thing"} 1.0' in text
    assert 'controller_runtime_reconcile_total{controller="thing",result="error"} 1.0' in text
    assert 'leader_election_master_status{name="myrmidon-thing.test.myrmidon.dev"} 1.0' in text
    assert 'achilles_object_suspended{group="test.myrmidon.dev",kind="Thing",name="still"' in text


def test_series_end_with_their_object() -> None:
    """No series names a deleted object, whatever the order of the last events."""
    with running() as cluster:
        assert '"good"' in scrape(cluster)
        for name in ("good", "bad", "still"):
            cluster.delete(Thing, name)
        cluster.advance(timedelta(seconds=30))
        text = scrape(cluster)
    for name in ("good", "bad", "still"):
        assert f'"{name}"' not in text


def test_objects_are_not_named_if_the_option_is_off() -> None:
    """For many thousands of objects: the same families, without names."""
    with running(per_object_metrics=False) as cluster:
        text = scrape(cluster)
    for name in ("good", "bad", "still"):
        assert f'"{name}"' not in text
    assert "achilles_trigger{" in text
    assert "controller_runtime_reconcile_total{" in text


def test_processing_time_starts_with_the_change() -> None:
    """It does not start with the resync that was scheduled hours before."""
    with Harness(Things(act, sync_period=timedelta(hours=10))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.advance(timedelta(hours=5))
        cluster.patch(Thing, "it", {"spec": {"value": "b"}})
        cluster.settle()
        text = scrape(cluster)
    total = next(
        sample.value
        for family in families(text)
        for sample in family.samples
        if sample.name == "achilles_processing_duration_seconds_sum"
    )
    assert total < 1.0

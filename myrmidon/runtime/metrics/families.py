"""Metrics: the declaration of every metric.

Names, labels and meanings are those that dashboards for controller-runtime and achilles-sdk use;
metrics of our own begin with ``myrmidon_``.  Two counters are exported without ``_total``, because
achilles does so.  Names and labels are API: changing one is a breaking change.

Series that name an object are removed when the object is gone, and can be switched off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
)

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.runtime.metrics.collectors import OfObjects, PlainCounter, Readiness
from myrmidon.runtime.metrics.series import Counter, FindExemplar, Histogram
from myrmidon.runtime.metrics.shards import ShardMetrics
from myrmidon.runtime.metrics.webhooks import WebhookMetrics

_KIND = ("group", "version", "kind")
_QUEUE = ("name", "controller")

# Passes and processing: the forty buckets of controller-runtime.
_PASS_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip
_STATE_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60)
_QUEUE_BUCKETS = tuple(10e-9 * 10**power for power in range(12))
_DRIFT_BUCKETS = (1, 10, 60, 600, 3600, 21_600, 86_400, 604_800)  # a second to a week
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_RESULTS = ("success", "error", "requeue", "requeue_after")
_NO_OBJECT = ObjectRef(Kind("", "", "", ""), "")  # the owner of series without object names


class Metrics:
    """All metrics of one process, by default in a new registry.

    ``per_object``: export series that carry the name of an object; True by default.
    ``exemplar`` finds the trace of a measured pass, state or request, for exemplars; None for none.
    """

    def __init__(
        self,
        registry: CollectorRegistry | None = None,
        *,
        per_object: bool = True,
        exemplar: FindExemplar | None = None,
    ) -> None:
        self.registry = registry or CollectorRegistry()
        self._exemplar = exemplar
        self.per_object = per_object
        self._declare_passes()
        self._declare_workers()
        self._declare_process()
        self._declare_queues()
        self._declare_objects()
        self._declare_outputs()
        self._declare_client()
        self._declare_caches()
        self.webhooks = WebhookMetrics(self.registry)
        self.shards = ShardMetrics(self.registry)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    # --------------------------------------------------------------------- declarations

    def _declare_passes(self) -> None:
        self.reconcile_total = Counter(
            "controller_runtime_reconcile_total",
            "Passes by result.",
            ("controller", "result"),
            registry=self.registry,
        )
        self.reconcile_errors = Counter(
            "controller_runtime_reconcile_errors_total",
            "Passes that failed.",
            ("controller",),
            registry=self.registry,
        )
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Passes that failed and are not retried until the object changes.",
            ("controller",),
            registry=self.registry,
        )
        self.panics = Counter(
            "controller_runtime_reconcile_panics_total",
            "Passes that ended with an unexpected exception.",
            ("controller",),
            registry=self.registry,
        )
        self.timeouts = Counter(
            "controller_runtime_reconcile_timeouts_total",
            "Passes that were cancelled at their time limit.",
            ("controller",),
            registry=self.registry,
        )
        self.reconcile_seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Time of one pass, with its writes.",
            ("controller",),
            buckets=_PASS_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.user_function_errors = Counter(
            "myrmidon_user_function_errors_total",
            "Calls of a function of a Watch (to, when) that raised; the event was skipped.",
            ("controller", "function"),
            registry=self.registry,
        )

    def _declare_workers(self) -> None:
        self.workers_max = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Workers.",
            ("controller",),
            registry=self.registry,
        )
        self.workers_active = Gauge(
            "controller_runtime_active_workers",
            "Workers with a pass under way.",
            ("controller",),
            registry=self.registry,
        )

    def _declare_process(self) -> None:
        self.leading = Gauge(
            "leader_election_master_status",
            "1 while this process leads, else 0.",
            ("name",),
            registry=self.registry,
        )
        self.loop_lag = Gauge(
            "myrmidon_loop_lag_seconds",
            "Longest time that the event loop was blocked, in the last one to two minutes.",
            registry=self.registry,
        )

        self.missing_kinds = Gauge(
            "myrmidon_missing_kinds",
            "1 for a kind that the cluster does not serve and that a controller waits for.",
            ("controller", *_KIND),
            registry=self.registry,
        )

    def _declare_queues(self) -> None:
        self.queue_depth = Gauge(
            "workqueue_depth", "Keys that are due.", (*_QUEUE, "priority"), registry=self.registry
        )
        self.queue_adds = Counter(
            "workqueue_adds_total", "Keys added.", _QUEUE, registry=self.registry
        )
        self.queue_retries = Counter(
            "workqueue_retries_total", "Keys added with a delay.", _QUEUE, registry=self.registry
        )
        self.queue_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "Time a key waited after it was due.",
            _QUEUE,
            buckets=_QUEUE_BUCKETS,
            registry=self.registry,
        )
        self.work_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "Time a worker spent on a key.",
            _QUEUE,
            buckets=_QUEUE_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.unfinished_seconds = Gauge(
            "workqueue_unfinished_work_seconds",
            "Age of all passes under way, added up.",
            _QUEUE,
            registry=self.registry,
        )
        self.longest_seconds = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest pass under way.",
            _QUEUE,
            registry=self.registry,
        )

    def _declare_objects(self) -> None:
        self.readiness = Readiness(
            "achilles_resource_readiness",
            'The status condition of type "Ready", one series per status.',
            (*_KIND, "name", "namespace", "type", "status"),
            self.registry,
        )
        self.triggers = PlainCounter(
            "achilles_trigger",
            "Events that caused a pass: group, version and kind are the triggering object's.",
            (*_KIND, "reqName", "reqNamespace", "event", "type", "controller"),
            self.registry,
        )
        self.state_seconds = Histogram(
            "achilles_state_duration_seconds",
            "Time one run of one state took, without the writes that follow it.",
            (*_KIND, "state"),
            buckets=_STATE_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.suspended = Gauge(
            "achilles_object_suspended",
            "1 for a suspended object.",
            (*_KIND, "name", "namespace"),
            registry=self.registry,
        )
        self.processing_seconds = Histogram(
            "achilles_processing_duration_seconds",
            "Time from the first event of a generation to its first success, and to its first failure.",
            (*_KIND, "success"),
            buckets=_PASS_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.events = PlainCounter(
            "achilles_event",
            "Kubernetes Events recorded by states.",
            (*_KIND, "objName", "objNamespace", "eventType", "reason", "controller"),
            self.registry,
        )
        self.retries_given_up = Counter(
            "myrmidon_retries_given_up_total",
            "Objects whose retries were given up, because of max_attempts or retry_for.",
            ("controller",),
            registry=self.registry,
        )

    def _declare_outputs(self) -> None:
        self.writes = Counter(
            "myrmidon_writes_total",
            "Outputs by what became of them: changed, noop (sent without effect), skipped, failed.",
            ("kind", "verb", "outcome"),
            registry=self.registry,
        )
        self.drift_corrections = Counter(
            "myrmidon_drift_corrections_total",
            "Writes that corrected what another writer had changed, under an unchanged declaration.",
            ("controller", "kind"),
            registry=self.registry,
        )
        self.drift_seconds = Histogram(
            "myrmidon_drift_seconds",
            "Time that an output had been as declared when its drift was corrected.",
            ("controller", "kind"),
            buckets=_DRIFT_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.stalled = Gauge(
            "myrmidon_stalled_objects",
            "Outputs that are changed back after each write, and therefore written less often.",
            ("controller",),
            registry=self.registry,
        )

    def _declare_client(self) -> None:
        self.requests = Counter(
            "rest_client_requests_total",
            "Requests by status code.",
            ("code", "method", "host"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Time to the whole answer.",
            ("verb", "host"),
            buckets=_REQUEST_BUCKETS,
            registry=self.registry,
            exemplar=self._exemplar,
        )
        self.throttle_seconds = Histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Time a request waited for the client's own rate limit.",
            ("verb", "host"),
            buckets=_REQUEST_BUCKETS,
            registry=self.registry,
        )

    def _declare_caches(self) -> None:
        self.cache_objects = Gauge(
            "myrmidon_cache_objects", "Objects in a shared cache.", _KIND, registry=self.registry
        )
        self.unreadable = Gauge(
            "myrmidon_unreadable_objects",
            "Objects in a shared cache that cannot be read.",
            _KIND,
            registry=self.registry,
        )
        self.cache_staleness = Gauge(
            "myrmidon_cache_staleness_seconds",
            "Time since a cache last heard from the server.",
            _KIND,
            registry=self.registry,
        )

    # ------------------------------------------------------------------------- scraping

    @property
    def of_objects(self) -> tuple[OfObjects, ...]:
        """The collectors of series that name an object."""
        return self.readiness, self.triggers, self.events

    @contextmanager
    def objects_apart(self) -> Iterator[None]:
        """Exclude the series that name an object from what the registry collects."""
        for collector in self.of_objects:
            collector.apart = True
        try:
            yield
        finally:
            for collector in self.of_objects:
                collector.apart = False

    # ---------------------------------------------------------------------- recordings

    def start_controller(self, controller: str, workers: int) -> None:
        """Create the series of a controller with the value 0, so that rates work from the start."""
        for result in _RESULTS:
            self.reconcile_total.labels(controller, result)
        for counter in (self.reconcile_errors, self.terminal_errors, self.panics, self.timeouts):
            counter.labels(controller)
        self.workers_max.labels(controller).set(workers)
        self.workers_active.labels(controller).set(0)
        self.stalled.labels(controller).set(0)
        self.retries_given_up.labels(controller)

    def user_function_failed(self, controller: str, function: str) -> None:
        """Count an exception that a user's function raised for one object."""
        self.user_function_errors.labels(controller, function).inc()

    def readiness_of(self, ref: ObjectRef, status: str) -> None:
        """Set the status of an object's Ready: exactly one of its four series is 1."""
        if self.per_object:
            self.readiness.set(ref, status)

    def suspension_of(self, ref: ObjectRef, suspended: bool) -> None:
        """Set whether an object is suspended; objects that never were have no series."""
        if self.per_object:
            self.suspended.labels(*_labels(ref)).set(1.0 if suspended else 0.0)

    def triggered(
        self, source: Kind, ref: ObjectRef, event: str, relation: str, controller: str
    ) -> None:
        """Count an event that triggered a pass."""
        name, namespace = (ref.name, ref.namespace) if self.per_object else ("", "")
        owner = ref if self.per_object else _NO_OBJECT
        self.triggers.inc(owner, *source[:3], name, namespace, event, relation, controller)

    def recorded(self, ref: ObjectRef, event_type: str, reason: str, controller: str) -> None:
        """Count a Kubernetes Event about an object."""
        name, namespace = (ref.name, ref.namespace) if self.per_object else ("", "")
        owner = ref if self.per_object else _NO_OBJECT
        self.events.inc(owner, *ref.kind[:3], name, namespace, event_type, reason, controller)

    def forget(self, ref: ObjectRef) -> None:
        """Remove every series of an object that is gone."""
        self.readiness.forget(ref)
        _remove(self.suspended, *_labels(ref))
        self.triggers.forget(ref)
        self.events.forget(ref)


def _labels(ref: ObjectRef) -> tuple[str, str, str, str, str]:
    return (*ref.kind[:3], ref.name, ref.namespace)


def _remove(metric: Any, *labels: str) -> None:
    try:
        metric.remove(*labels)
    except KeyError:
        return

"""The metrics of webhooks, under the names of controller-runtime."""

from prometheus_client import CollectorRegistry, Gauge

from myrmidon.runtime.metrics.series import Counter, Histogram

_BUCKETS = tuple(10e-9 * 10**power for power in range(12))


class WebhookMetrics:
    """Counts the requests to webhooks.  ``webhook`` is the path of the webhook."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a request to a webhook.",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Requests to webhooks, by HTTP status.",
            ("webhook", "code"),
            registry=registry,
        )
        self.in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests to webhooks that are being answered.",
            ("webhook",),
            registry=registry,
        )
        self.panics = Counter(
            "controller_runtime_webhook_panics_total",
            "Validators and defaults that ended with an unexpected exception.",
            (),
            registry=registry,
        )
        self.conversion_panics = Counter(
            "controller_runtime_conversion_webhook_panics_total",
            "Conversions that ended with an unexpected exception.",
            (),
            registry=registry,
        )

"""Counts requests for the metrics that every client of an API server has."""

from typing import Any

from myrmidon.runtime.metrics.families import Metrics


class RequestCounter:
    """Feeds ``rest_client_*`` from the client; series are looked up once."""

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._metrics, self._host = metrics, host
        self._counters: dict[tuple[str, int], Any] = {}
        self._seconds: dict[str, Any] = {}

    def on_request(self, method: str, status: int, seconds: float) -> None:
        """One attempt is over; no answer counts as ``<error>``, as in client-go."""
        counter = self._counters.get((method, status))
        if counter is None:
            code = str(status) if status else "<error>"
            counter = self._metrics.requests.labels(code, method, self._host)
            self._counters[method, status] = counter
        counter.inc()
        histogram = self._seconds.get(method)
        if histogram is None:
            histogram = self._metrics.request_seconds.labels(method, self._host)
            self._seconds[method] = histogram
        histogram.observe(seconds)

    def on_throttle(self, method: str, seconds: float) -> None:
        """A request waited for our own rate limit."""
        self._metrics.throttle_seconds.labels(method, self._host).observe(seconds)

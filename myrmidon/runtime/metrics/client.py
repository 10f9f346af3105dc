"""RequestCounter: the ``rest_client_*`` metrics, as client-go has them."""

from typing import Any

from myrmidon.runtime.metrics.families import Metrics


class RequestCounter:
    """Counts and times the requests of a client; the series of each method is looked up once."""

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._metrics, self._host = metrics, host
        self._counters: dict[tuple[str, int], Any] = {}
        self._seconds: dict[str, Any] = {}

    def on_request(self, method: str, status: int, seconds: float) -> None:
        """Record one attempt of a request; without an answer its code is ``<error>``."""
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
        """Record how long a request waited for the client's own rate limit."""
        self._metrics.throttle_seconds.labels(method, self._host).observe(seconds)

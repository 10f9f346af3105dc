"""RequestCounter: the ``rest_client_*`` metrics, as client-go has them."""

from myrmidon.runtime.metrics.families import Metrics
from myrmidon.runtime.metrics.series import Spread, Tally


class RequestCounter:
    """Counts and times the requests of a client; the series of each method and code are looked up once."""

    def __init__(self, metrics: Metrics, host: str) -> None:
        self._metrics, self._host = metrics, host
        self._series: dict[tuple[str, int], tuple[Tally, Spread]] = {}

    def on_request(self, method: str, status: int, seconds: float) -> None:
        """Record one attempt of a request; without an answer its code is ``<error>``."""
        series = self._series.get((method, status))
        if series is None:
            code = str(status) if status else "<error>"
            counter = self._metrics.requests.labels(code, method, self._host)
            histogram = self._metrics.request_seconds.labels(method, self._host)
            series = self._series[method, status] = counter, histogram
        series[0].inc()
        series[1].observe(seconds)

    def on_throttle(self, method: str, seconds: float) -> None:
        """Record how long a request waited for the client's own rate limit."""
        self._metrics.throttle_seconds.labels(method, self._host).observe(seconds)

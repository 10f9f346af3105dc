"""WebhookDispatch: from the path of a request and its JSON to the answer.

The HTTPS server and the embedded API server of a test both call ``answer``, so a webhook behaves the
same in a test, in `myrmidon dev` and in a cluster.  Further handlers, such as the conversion between
versions, are mounted by path: a handler is an async function from JSON to JSON.

Validators have a budget (``admission.reviews.budget_seconds``): the API server must get our answer,
which says which webhook was slow, before it gives up and says only that the deadline was exceeded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeAlias

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.webhooks import WebhookMetrics
from myrmidon.runtime.webhooks.reads import AdmissionReads
from myrmidon.webhooks.admission.reviews import budget_seconds, decide, timed_out
from myrmidon.webhooks.admission.webhooks import Webhook

Handler: TypeAlias = Callable[[Json], Awaitable[Json]]


class WebhookDispatch:
    """Answers the requests of the API server to the webhooks of one process."""

    def __init__(
        self,
        webhooks: Iterable[Webhook],
        reads: AdmissionReads,
        clock: Clock,
        metrics: WebhookMetrics,
        log: Logger,
    ) -> None:
        self._reads, self._clock, self._metrics, self._log = reads, clock, metrics, log
        self._handlers: dict[str, Handler] = {}
        for webhook in webhooks:
            self.mount(webhook.path, partial(self._review, webhook))

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that are answered."""
        return tuple(self._handlers)

    def mount(self, path: str, handler: Handler) -> None:
        """Answer requests to a path with an async function from JSON to JSON."""
        self._handlers[path] = handler

    async def answer(self, path: str, body: Json) -> tuple[int, Json]:
        """Return the HTTP status and the body of the answer; it never raises for a request."""
        handler = self._handlers.get(path)
        if handler is None:
            return 404, {"message": f"no webhook is served at {path}"}
        began, code = self._clock.monotonic(), 200
        in_flight = self._metrics.in_flight.labels(path)
        in_flight.inc()
        try:
            return code, await handler(body)
        except ValueError as error:
            code = 400
            return code, {"message": str(error)}
        except Exception as error:  # noqa: BLE001 - one request must not harm the others
            code = 500
            self._log.crash("webhook failed", error, webhook=path)
            return code, {"message": f"{type(error).__name__}: {error}"}
        finally:
            in_flight.dec()
            self._metrics.seconds.labels(path).observe(self._clock.monotonic() - began)
            self._metrics.requests.labels(path, str(code)).inc()

    async def _review(self, webhook: Webhook, review: Json) -> Json:
        seconds = budget_seconds(webhook.terms.timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                decision = await decide(
                    webhook, review, lambda request: self._reads.context(webhook, request)
                )
        except TimeoutError:
            self._log.warning("webhook timed out", webhook=webhook.name, seconds=seconds)
            return timed_out(webhook, review, seconds).response()
        for error in decision.errors:
            self._metrics.panics.labels().inc()
            self._log.crash("a validator or default failed", error, webhook=webhook.name)
        return decision.response()

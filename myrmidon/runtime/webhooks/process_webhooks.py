"""ProcessWebhooks: what one manager does about webhooks, from its declarations to the open port.

Webhooks are answered as soon as ``open`` has returned, in the process (``dispatch``) and, with
``ManagerOptions.webhooks``, over HTTPS.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm.controller import Controller
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.metrics.webhooks import WebhookMetrics
from myrmidon.runtime.process.supervision import Supervisor, Tasks
from myrmidon.runtime.webhooks.conversion import conversion_handlers
from myrmidon.runtime.webhooks.dispatch import Handler, WebhookDispatch
from myrmidon.runtime.webhooks.options import WebhookOptions
from myrmidon.runtime.webhooks.reads import AdmissionReads
from myrmidon.runtime.webhooks.service import WebhookService
from myrmidon.webhooks.admission.webhooks import Subject, webhooks_of


class Unfenced(NamedTuple):
    """A connection to the cluster that a replica which does not lead may use, too."""

    client: Client
    leads: Callable[[], bool]
    """Whether this process leads now."""
    namespace: str
    """The namespace of the process."""


def handlers_of(
    controllers: Iterable[Controller[Any]],
    given: Mapping[str, Handler],
    metrics: WebhookMetrics,
    log: Logger,
) -> dict[str, Handler]:
    """Return the handlers to mount: the given ones, and the conversion of kinds with versions."""
    return {**conversion_handlers(map(type, controllers), metrics, log), **given}


class ProcessWebhooks:
    """The webhooks of one process."""

    def __init__(
        self,
        subjects: Iterable[Subject],
        mounted: Mapping[str, Handler],
        *,
        options: WebhookOptions | None,
        connection: Unfenced,
        caches: Caches,
        namespaces: Iterable[str],
        definitions: Iterable[Json],
        clock: Clock,
        metrics: WebhookMetrics,
        log: Logger,
    ) -> None:
        self._options, self._connection, self._clock, self._log = options, connection, clock, log
        self._definitions = tuple(definitions)
        self._webhooks = [each for subject in subjects for each in webhooks_of(subject)]
        self._reads = AdmissionReads(
            self._webhooks, caches, connection.client, clock=clock, log=log, namespaces=namespaces
        )
        self.dispatch = WebhookDispatch(self._webhooks, self._reads, clock, metrics, log)
        for path, handler in mounted.items():
            self.dispatch.mount(path, handler)
        self._service: WebhookService | None = None

    async def open(self, stack: AsyncExitStack) -> dict[str, str]:
        """Serve over HTTPS, if the options say so; return the bound address by that in the options."""
        stack.callback(self._reads.close)
        if self._options is None:
            paths = list(self.dispatch.paths)
            self._log.info("webhooks are declared, but not served", paths=paths)
            return {}
        service = self._service = WebhookService(
            self._options,
            self._webhooks,
            self.dispatch,
            client=self._connection.client,
            leads=self._connection.leads,
            namespace=self._connection.namespace,
            definitions=self._definitions,
            clock=self._clock,
            log=self._log,
        )
        bound = await service.open(stack)
        stack.push_async_callback(service.uninstall)
        await service.round()
        return {self._options.addr: bound}

    def start(self, supervisor: Supervisor) -> Tasks:
        """Keep the certificates; a task of the manager."""
        if self._service is None:
            return []
        return supervisor.start("webhook certificates", self._service.run)

    def checks(self) -> dict[str, str | None]:
        """Return the check of readyz: ready when the API server trusts our certificate."""
        return {} if self._service is None else {"webhooks": self._service.problem}

"""The reads of validators and defaults: from the caches of the process, for the kinds they declare.

Each declared read opens a view when the process starts, and shares the cache of a controller that
declares the same.  A read waits until its cache is in sync, within the budget of the webhook: before
that, an object that is not in the cache may nevertheless exist.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.selectors import selector
from myrmidon.api.typed.object_types import kind_of, reader_of
from myrmidon.errors import NotFoundError, ProgrammingError
from myrmidon.fsm.context import Log
from myrmidon.fsm.declaration.shapes import Reads
from myrmidon.io.client import Client
from myrmidon.io.watch.caches import Caches
from myrmidon.io.watch.projections import Projection
from myrmidon.io.watch.views import View
from myrmidon.runtime.logs import Logger
from myrmidon.webhooks.admission.requests import AdmissionRequest
from myrmidon.webhooks.admission.webhooks import Webhook

Labels = Mapping[str, str] | str | None


class AdmissionReads:
    """What the webhooks of a process read: a view for each cached kind, the client for others."""

    def __init__(
        self,
        webhooks: Iterable[Webhook],
        caches: Caches | None,
        client: Client,
        *,
        clock: Clock,
        log: Logger,
        namespaces: Iterable[str] = (),
    ) -> None:
        """Without ``caches``, every read asks the server."""
        self._client, self._clock, self._log = client, clock, log
        self._views: dict[Reads, View] = {}
        for webhook in webhooks:
            for read in webhook.reads:
                if caches is not None and read.cached and read not in self._views:
                    self._views[read] = _view(caches, read, namespaces)

    def context(self, webhook: Webhook, request: AdmissionRequest[Any]) -> "WebhookContext":
        """Return the context of one request."""
        views = {_kind(read): self._views.get(read) for read in webhook.reads}
        log = self._log.having(webhook=webhook.name, object=f"{request.namespace}/{request.name}")
        return WebhookContext(webhook, request, views, self._client, now=self._clock.now(), log=log)

    def close(self) -> None:
        """Close the views."""
        for view in self._views.values():
            view.close()


class WebhookContext:
    """The context of one request, see ``admission.requests.AdmissionContext``."""

    def __init__(
        self,
        webhook: Webhook,
        request: AdmissionRequest[Any],
        views: Mapping[Kind, View | None],
        client: Client,
        *,
        now: datetime,
        log: Logger,
    ) -> None:
        self._webhook, self._request, self._views, self._client = webhook, request, views, client
        self.now = now
        self.log = cast("Log", log)  # whose messages are positional only

    async def get(
        self, kind: Any, name: str, namespace: str | None = None, cluster: str = ""
    ) -> Any:
        """Return the cached object, None if there is none; from the server if it is not cached."""
        found = self._declared(kind, cluster)
        where = (self._request.namespace if namespace is None else namespace) * found.namespaced
        view = self._views[found]
        obj: Json | None
        if view is None:
            try:
                obj = await self._client.get(ObjectRef(found, name, where))
            except NotFoundError:
                obj = None
        else:
            await view.wait_synced()
            obj = view.get(name, where)
        return None if obj is None else reader_of(kind)(obj)

    async def list(
        self,
        kind: Any,
        namespace: str | None = None,
        labels: Labels = None,
        index: tuple[str, str] | None = None,
        cluster: str = "",
    ) -> list[Any]:
        """Return all cached objects that match."""
        found = self._declared(kind, cluster)
        view = self._views[found]
        listed = any(read.cached and _kind(read) == found for read in self._webhook.reads)
        if index is not None or not listed:
            raise ProgrammingError(
                f"{self._webhook.name} lists {found} "
                + ("by an index" if index is not None else "which is declared with cached=False")
                + ", which a webhook cannot.\n  fix: list a cached kind, by labels or as a whole"
            )
        where = (self._request.namespace if namespace is None else namespace) * found.namespaced
        if view is None:
            objects = await self._client.list(found, where, labels=str(selector(labels)))
        else:
            await view.wait_synced()
            objects = view.list(where, labels=str(selector(labels)))
        return [reader_of(kind)(obj) for obj in objects]

    def _declared(self, wanted: Any, cluster: str) -> Kind:
        kind = kind_of(wanted)
        if kind is None or cluster or kind not in self._views:
            name = self._webhook.methods[0].name
            shown = wanted if kind is None else f"{kind.kind} ({kind.api_version})"
            raise ProgrammingError(
                f"{name} reads {shown}, which it does not declare.\n"
                f"  fix: add it to the decorator of {name}: reads=(...)"
            )
        return kind


def _kind(read: Reads) -> Kind:
    found = kind_of(read.kind)
    assert found is not None, "checked when the method was declared"
    return found


def _view(caches: Caches, read: Reads, namespaces: Iterable[str]) -> View:
    return caches.view(
        _kind(read),
        namespaces=read.namespaces or tuple(namespaces),
        labels=read.selector,
        fields=read.field_selector,
        metadata_only=read.metadata_only,
        transform=Projection(read.fields) if read.fields else None,
    )

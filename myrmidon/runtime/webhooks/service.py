"""WebhookService: the webhooks of one process, from the certificate to the answer.

``open`` starts the HTTPS server at once, before the process leads and before its caches are in sync.
``run`` then repeats one round every ``WebhookOptions.poll``:

1. read the bundles that the API server trusts now;
2. ask the source for the certificate (``certificates``), which rotates it if needed;
3. load it, if it is another one; connections that are open go on with the old one;
4. inject the bundle where it is missing, if this process leads;
5. verify our certificate against every injected bundle.  Until that succeeds ``readyz`` fails, so no
   Service sends requests here that would fail in the TLS handshake.

A round that fails is reported in ``readyz`` and in the log, and repeated; the server goes on with the
certificate that it has.
"""

import ssl
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Patch
from myrmidon.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    MyrmidonError,
    NotFoundError,
    TransportError,
)
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.webhooks.certificates import (
    CertificateFiles,
    CertificateSource,
    ManagedCertificates,
    OwnCertificates,
)
from myrmidon.runtime.webhooks.dispatch import WebhookDispatch
from myrmidon.runtime.webhooks.options import WebhookOptions
from myrmidon.runtime.webhooks.server import serving_webhooks
from myrmidon.runtime.webhooks.tls import CertificatePair, load_pair, server_context, trust_problem
from myrmidon.runtime.webhooks.trust import bundles_of, with_bundle
from myrmidon.webhooks.admission.configurations import configuration_kinds, configurations
from myrmidon.webhooks.admission.webhooks import Webhook

FIELD_MANAGER = "myrmidon-webhooks"
_FAILURES = (ApiError, TransportError, MyrmidonError, ssl.SSLError, OSError)


class WebhookService:
    """Serves the webhooks of one process and keeps their certificates."""

    def __init__(
        self,
        options: WebhookOptions,
        webhooks: Iterable[Webhook],
        dispatch: WebhookDispatch,
        *,
        client: Client,
        leads: Callable[[], bool],
        namespace: str,
        definitions: Iterable[Json],
        clock: Clock,
        log: Logger,
    ) -> None:
        """``client`` is not fenced; what it writes is idempotent, and locked where it is not."""
        self._options, self._webhooks, self._dispatch = options, list(webhooks), dispatch
        self._client, self._leads, self._clock, self._log = client, leads, clock, log
        self._namespace = options.namespace or namespace
        self._targets = [
            *(ObjectRef(kind, options.name) for kind in configuration_kinds(self._webhooks)),
            *(
                ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, each["metadata"]["name"])
                for each in definitions
                if bundles_of(each)
            ),
        ]
        self._context = server_context()
        self._loaded: CertificatePair | None = None
        self._installed = b""  # the bundle of the configurations that this process has installed
        self._source = self._certificates()
        self.problem: str | None = "no certificate yet"
        """Why the API server would not accept our answers; None if it does."""

    @property
    def host(self) -> str:
        """The host name by which the API server reaches this process."""
        if self._options.url:
            return urlsplit(self._options.url).hostname or ""
        return f"{self._options.service}.{self._namespace}.svc"

    async def open(self, stack: AsyncExitStack) -> str:
        """Start the server; return its bound address.  The first round follows in ``run``."""
        server = serving_webhooks(self._options.addr, self._context, self._dispatch)
        bound = await stack.enter_async_context(server)
        self._log.info("serving webhooks", address=bound, paths=list(self._dispatch.paths))
        return bound

    async def run(self) -> None:
        """Repeat rounds until cancelled."""
        while True:
            await self.round()
            await self._clock.sleep(self._options.poll.total_seconds())

    async def round(self) -> None:
        """Do one round; report a failure in ``problem`` and in the log."""
        before = self.problem
        try:
            self.problem = await self._round()
        except ConflictError:
            return  # another replica did this step; the next round reads what it stored
        except ForbiddenError as error:
            self.problem = (
                f"{error.message}; let an administrator apply the role of `myrmidon generate rbac`"
            )
        except _FAILURES as error:
            self.problem = str(error)
        if self.problem != before and self.problem is not None:
            self._log.warning("webhooks are not ready", problem=self.problem)
        elif self.problem != before:
            self._log.info("webhooks are ready")

    async def uninstall(self) -> None:
        """Delete the configurations that were installed for a URL: they end with this process."""
        if not self._options.url:
            return
        for ref in self._targets:
            if ref.kind != kinds.CUSTOM_RESOURCE_DEFINITION:
                try:
                    await self._client.delete(ref)
                except (ApiError, TransportError) as error:
                    self._log.warning(
                        "webhooks stay installed", object=str(ref), problem=str(error)
                    )

    # ------------------------------------------------------------------------------ steps

    async def _round(self) -> str | None:
        objects = [each for each in [await self._read(ref) for ref in self._targets] if each]
        pair, bundle = await self._source.current(_bundles(objects))
        if pair != self._loaded:
            load_pair(self._context, pair)
            self._loaded = pair
        if bundle is not None and self._leads():
            missing = len(objects) < len(self._targets)
            if self._options.url and (missing or bundle != self._installed):
                objects = await self._install(bundle)
                self._installed = bundle
            objects = [await self._inject(each, bundle) for each in objects]
        if len(objects) < len(self._targets) and bundle is not None:
            names = sorted({ref.name for ref in self._targets})
            return f"a webhook configuration is not installed: {', '.join(names)}"
        for trusted in _bundles(objects):
            problem = trust_problem(self._context, trusted, self.host)
            if problem is not None:
                return problem
        return None

    async def _read(self, ref: ObjectRef) -> Json | None:
        try:
            return await self._client.get(ref)
        except NotFoundError:
            return None
        except ForbiddenError:
            if self._options.certificates:
                return None  # another party injects the bundle, and we may not look at it
            raise

    async def _inject(self, obj: Json, bundle: bytes) -> Json:
        changed = with_bundle(obj, bundle)
        if changed is None:
            return obj
        kind = _kind(changed)
        try:
            stored = await self._client.update(kind, changed, field_manager=FIELD_MANAGER)
        except ConflictError:
            return obj  # another writer was faster; the next round looks again
        self._log.info("CA bundle injected", object=f"{kind} {obj['metadata']['name']}")
        return stored

    async def _install(self, bundle: bytes) -> list[Json]:
        """Apply the configurations with the URL of this process; return all targets."""
        base = self._options.url.rstrip("/")
        for made in configurations(
            self._webhooks, self._options.name, lambda each: {"url": f"{base}{each.path}"}
        ):
            ref = ObjectRef(_kind(made), self._options.name)
            trusting = with_bundle(made, bundle) or made
            await self._client.patch(
                ref, trusting, patch=Patch.APPLY, field_manager=FIELD_MANAGER, force=True
            )
        return [each for each in [await self._read(ref) for ref in self._targets] if each]

    def _certificates(self) -> CertificateSource:
        options = self._options
        if options.certificates:
            return CertificateFiles(options.certificates)
        if options.url:
            return OwnCertificates([self.host], options.terms, self._clock)
        service, namespace = options.service, self._namespace
        names = [f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local"]
        return ManagedCertificates(
            ObjectRef(kinds.SECRET, options.secret, namespace),
            names,
            options.terms,
            client=self._client,
            leads=self._leads,
            clock=self._clock,
            log=self._log,
        )


def _bundles(objects: Sequence[Json]) -> list[bytes]:
    return [bundle for obj in objects for bundle in bundles_of(obj)]


def _kind(obj: Json) -> Kind:
    return next(
        kind
        for kind in (
            kinds.MUTATING_WEBHOOK_CONFIGURATION,
            kinds.VALIDATING_WEBHOOK_CONFIGURATION,
            kinds.CUSTOM_RESOURCE_DEFINITION,
        )
        if kind.kind == obj["kind"]
    )

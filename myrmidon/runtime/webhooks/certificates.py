"""Where the serving certificate comes from: files, a Secret that we manage, or this process alone.

Each source is asked again and again (``WebhookService.run``); asking reads what there is now and, in
a process that leads, does the next step of a rotation.  Polling is deliberate: it needs no more than
``get`` on a few names, and a rotation is spread over minutes anyway.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Protocol

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import AlreadyExistsError, NotFoundError, UsageError
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.webhooks.rotation import (
    CertificateTerms,
    RotationStep,
    TrustMemory,
    next_step,
)
from myrmidon.runtime.webhooks.tls import CertificatePair

CA, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"


class CertificateSource(Protocol):
    """Returns the current certificate, and the CA bundle that has to be injected."""

    async def current(self, injected: Sequence[bytes]) -> tuple[CertificatePair, bytes | None]:
        """Return the pair to serve with, and the bundle that clients should trust.

        ``injected`` are the bundles that the API server has now.  The bundle is None if another
        party injects it, as cert-manager does.
        """
        ...


class CertificateFiles:
    """Files of a folder, ``tls.crt`` and ``tls.key``, as a mounted Secret of cert-manager has them."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    async def current(self, injected: Sequence[bytes]) -> tuple[CertificatePair, bytes | None]:
        """Return what the files say now; they are small, and in memory if they are mounted."""
        del injected
        try:
            certificate = (self._folder / CERTIFICATE).read_bytes()
            key = (self._folder / KEY).read_bytes()
        except OSError as error:
            raise UsageError(
                f"the certificate of the webhooks cannot be read: {error}.\n"
                f"  fix: mount the Secret of the certificate at {self._folder}"
            ) from error
        return CertificatePair(certificate, key), None


class ManagedCertificates:
    """A Secret with an authority and a serving certificate, which the leader rotates.

    Any replica may create the Secret: the first one wins, and the others read what it made, so that
    webhooks are served before a leader is elected.
    """

    def __init__(
        self,
        secret: ObjectRef,
        names: Collection[str],
        terms: CertificateTerms,
        *,
        client: Client,
        leads: Callable[[], bool],
        clock: Clock,
        log: Logger,
    ) -> None:
        """``client`` must not be fenced: a replica that does not lead may create the Secret."""
        self._secret, self._names, self._terms = secret, tuple(names), terms
        self._client, self._leads, self._clock, self._log = client, leads, clock, log
        self._memory = TrustMemory()

    async def current(self, injected: Sequence[bytes]) -> tuple[CertificatePair, bytes | None]:
        """Read the Secret, and do the next step of a rotation if this process leads."""
        authority = _authority_module()
        obj = await self._read()
        data = _data(obj)
        held, now = authority.held_of(data), self._clock.now()
        trusted = self._memory.settled(_everywhere(injected), now, self._terms)
        step = next_step(held, now, trusted, self._names, self._terms)
        if step is not RotationStep.NONE and (obj is None or self._leads()):
            data = authority.carried_out(step, data, now, self._names, self._terms)
            data = await self._write(obj, data)
            self._log.info("webhook certificates changed", step=step.value)
        if not {CERTIFICATE, KEY, CA} <= data.keys():
            raise UsageError(
                f"{self._secret} does not hold the certificates of the webhooks.\n"
                "  fix: delete it, or wait until a replica leads, which makes them anew"
            )
        return CertificatePair(data[CERTIFICATE], data[KEY]), data[CA]

    async def _read(self) -> Json | None:
        try:
            return await self._client.get(self._secret)
        except NotFoundError:
            return None

    async def _write(self, obj: Json | None, data: dict[str, bytes]) -> dict[str, bytes]:
        """Store the data; if another replica was faster, return what that one stored."""
        encoded = {key: b64encode(value).decode() for key, value in data.items()}
        if obj is not None:
            # With the resourceVersion that was read: a leader of before must not undo a step.
            await self._client.update(kinds.SECRET, {**obj, "data": encoded})
            return data
        ref = self._secret
        made: Json = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "type": "kubernetes.io/tls",
            "data": encoded,
        }
        try:
            await self._client.create(kinds.SECRET, made)
        except AlreadyExistsError:
            return _data(await self._read())
        return data


class OwnCertificates:
    """An authority and a certificate that this process makes for itself, and forgets at its end."""

    def __init__(self, names: Collection[str], terms: CertificateTerms, clock: Clock) -> None:
        self._names, self._terms, self._clock = tuple(names), terms, clock
        self._data: dict[str, bytes] = {}
        self._memory = TrustMemory()

    async def current(self, injected: Sequence[bytes]) -> tuple[CertificatePair, bytes | None]:
        """Return the certificate, made anew when a third of its life is left."""
        authority = _authority_module()
        held, now = authority.held_of(self._data), self._clock.now()
        trusted = self._memory.settled(_everywhere(injected), now, self._terms)
        step = next_step(held, now, trusted, self._names, self._terms)
        self._data = authority.carried_out(step, self._data, now, self._names, self._terms)
        return CertificatePair(self._data[CERTIFICATE], self._data[KEY]), self._data[CA]


def _everywhere(injected: Sequence[bytes]) -> set[str]:
    """Return the fingerprints of the authorities that are in every bundle."""
    found = [_authority_module().fingerprints(bundle) for bundle in injected]
    return set.intersection(*found) if found else set()


def _data(obj: Json | None) -> dict[str, bytes]:
    """Return the data of a Secret; the server takes only base64."""
    return {key: b64decode(text) for key, text in ((obj or {}).get("data") or {}).items()}


def _authority_module() -> Any:
    try:
        from myrmidon.runtime.webhooks import authority  # noqa: PLC0415 - needs an optional library
    except ModuleNotFoundError:
        raise UsageError(
            "webhooks with certificates of their own need the package cryptography.\n"
            "  fix: pip install 'myrmidon[webhooks]', or give the folder of a certificate: "
            "--webhook-certs DIR"
        ) from None
    return authority

"""Rotation: when a certificate authority or a serving certificate is replaced, and in which order.

Three parties must agree at every moment: the API servers, which trust the bundle in the webhook
configurations; the Secret, which holds the bundle and the serving certificate; and the replicas,
which serve with the certificate that they read last.  None of them changes at the same moment as
another.  So an authority is replaced in three steps, each of which waits until the one before has
arrived everywhere:

    ADD      the new authority is added to the bundle, beside the old one; the serving certificate
             stays.  The bundle is injected into the configurations.
    SERVE    when the new authority is injected everywhere, and ``propagation`` later (API servers
             read configurations with a delay), it signs a new serving certificate.
    DROP     ``overlap`` later, when every replica must have loaded that certificate, the old
             authority leaves the bundle.

A serving certificate is renewed by its authority without these steps, since the bundle stays as it is.

Each certificate is replaced when a third of its life is left.  Its age is read from the certificate
itself, which is valid from ``BACKDATED`` before it was made, so that clocks may differ.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from myrmidon.errors import UsageError

BACKDATED = timedelta(minutes=5)
_LEFT = 3  # renew when one third is left


class RotationStep(Enum):
    """What to do next about the certificates."""

    NONE = "none"
    CREATE = "create"
    ADD = "add"
    SERVE = "serve"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateTerms:
    """How long certificates live, and how long a change takes to arrive everywhere."""

    authority: timedelta = timedelta(days=365)
    serving: timedelta = timedelta(days=90)
    propagation: timedelta = timedelta(seconds=30)
    """How long an API server may still use an older bundle after it was injected."""
    overlap: timedelta = timedelta(minutes=10)
    """How long a replica may still serve with an older certificate."""

    def __post_init__(self) -> None:
        needed = self.propagation + self.overlap
        for name in ("authority", "serving"):
            life: timedelta = getattr(self, name)
            if life / _LEFT <= needed:
                raise UsageError(
                    f"CertificateTerms.{name} is {life}, but a third of it must be longer than "
                    f"propagation and overlap together, which are {needed}.\n"
                    f"  fix: make {name} longer, or overlap shorter"
                )


@dataclass(frozen=True, slots=True)
class Issued:
    """One certificate: its fingerprint, when it was made, and when it ends."""

    fingerprint: str
    made_at: datetime
    ends_at: datetime

    def is_due(self, now: datetime) -> bool:
        """Whether it is time to replace it."""
        return self.ends_at - now <= (self.ends_at - self.made_at) / _LEFT


@dataclass(frozen=True, slots=True)
class HeldCertificates:
    """The certificates in the Secret."""

    authorities: tuple[Issued, ...]
    """The bundle, the newest authority first."""
    serving: Issued
    issuer: str
    """The fingerprint of the authority that signed the serving certificate."""
    names: frozenset[str]
    """The host names in the serving certificate."""


class TrustMemory:
    """Since when every configuration has trusted an authority, as far as this process has seen.

    The time counts from the injection, not from the making of the authority: it may have been
    injected late, by another replica or after an outage.  A process that has just started waits anew,
    which only delays a rotation.
    """

    def __init__(self) -> None:
        self._since: dict[str, datetime] = {}

    def settled(
        self, injected: Collection[str], now: datetime, terms: CertificateTerms
    ) -> frozenset[str]:
        """Return the authorities that every API server must have read by now.

        ``injected`` are those that every configuration has at this moment.
        """
        self._since = {each: self._since.get(each, now) for each in injected}
        return frozenset(
            each for each, since in self._since.items() if now - since >= terms.propagation
        )


def next_step(
    held: HeldCertificates | None,
    now: datetime,
    trusted: Collection[str],
    names: Collection[str],
    terms: CertificateTerms,
) -> RotationStep:
    """Return what to do next; ``trusted`` are the authorities that every API server has read.

    ``names`` are the host names by which the API servers reach the webhooks.
    """
    if held is None or not held.authorities:
        return RotationStep.CREATE
    newest = held.authorities[0]
    if held.issuer != newest.fingerprint:
        arrived = newest.fingerprint in trusted
        is_over = held.serving.ends_at <= now or held.issuer not in _fingerprints(held)
        return RotationStep.SERVE if arrived or is_over else RotationStep.NONE
    if held.serving.is_due(now) or not set(names) <= held.names:
        return RotationStep.SERVE
    if len(held.authorities) > 1:
        settled = now - held.serving.made_at >= terms.overlap
        return RotationStep.DROP if settled else RotationStep.NONE
    return RotationStep.ADD if newest.is_due(now) else RotationStep.NONE


def _fingerprints(held: HeldCertificates) -> set[str]:
    return {each.fingerprint for each in held.authorities}

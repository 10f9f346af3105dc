"""WebhookOptions: how the webhooks of a process are served; part of ``ManagerOptions``."""

from dataclasses import dataclass, field
from datetime import timedelta

from myrmidon.errors import UsageError
from myrmidon.fsm.declaration.option_types import mistyped
from myrmidon.runtime.webhooks.rotation import CertificateTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How the webhooks of a process are served, and where their certificate comes from."""

    addr: str = ":9443"
    """Where webhooks are served over HTTPS, as ``host:port`` or ``:port``; ``:9443`` by default."""
    name: str = "myrmidon"
    """The name of the webhook configurations in the cluster; ``generate`` uses the program's."""
    service: str = ""
    """The Service through which the API server reaches this process; ``NAME-webhooks`` by default."""
    secret: str = ""
    """The Secret of the certificates that the program manages itself; ``NAME-webhooks`` by default.
    No effect with ``certificates`` or ``url``."""
    namespace: str = ""
    """The namespace of the Service and the Secret; by default that of the pod."""
    certificates: str = ""
    """A folder with ``tls.crt`` and ``tls.key``, read again when they change, as a mounted Secret of
    cert-manager has them; another party injects the CA bundle.  Empty, the default: the program
    makes its certificates, rotates them and injects the bundle; needs ``myrmidon[webhooks]``."""
    url: str = ""
    """The URL by which the API server reaches this process, for a program that runs outside the
    cluster: ``https://laptop.example.com:9443``.  The process then installs the webhook
    configurations itself, and deletes them at its end.  Empty by default: through the Service."""
    terms: CertificateTerms = field(default_factory=CertificateTerms)
    """How long the certificates live that the program makes; a year for the authority and 90 days
    for the serving certificate by default.  Each is replaced when a third of its life is left."""
    poll: timedelta = timedelta(seconds=10)
    """How often the certificate and the bundle are looked at; every 10 seconds by default.  Must be
    shorter than ``terms.overlap``."""

    def __post_init__(self) -> None:
        for name in ("service", "secret"):
            if not getattr(self, name):
                object.__setattr__(self, name, f"{self.name}-webhooks")
        for name, fix in mistyped(self):
            raise UsageError(f"WebhookOptions.{name} is {getattr(self, name)!r}.\n  fix: {fix}")
        if self.url and not self.url.startswith("https://"):
            raise UsageError(
                f"WebhookOptions.url is {self.url!r}, but an API server calls webhooks by HTTPS only.\n"
                "  fix: write https://HOST:PORT, with a host that the API server can reach"
            )
        if self.poll >= self.terms.overlap:
            raise UsageError(
                f"WebhookOptions.poll is {self.poll}, but a replica must notice a new certificate "
                f"within terms.overlap, which is {self.terms.overlap}.\n"
                "  fix: make poll shorter, or terms.overlap longer"
            )

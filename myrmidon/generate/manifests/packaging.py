"""Packaging: the names that all manifests of one program share."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from myrmidon.errors import UsageError
from myrmidon.generate.manifests.image import ImageSource
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import Webhook

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaging:
    """How a program is called and run in a cluster."""

    name: str
    namespace: str
    image: str
    target: tuple[str, ...]
    """What ``myrmidon run`` gets as its arguments."""
    replicas: int = 1
    shards: bool = False
    """Whether all replicas work, each on its share of the objects; otherwise one of them leads."""
    cluster: str = ""
    """The remote cluster whose roles are wanted; empty for the program's own."""
    install_crds: bool = False
    """Whether the program installs its definitions itself."""
    migrate_storage: bool = False
    """Whether the program writes all objects in the storage version, in the background."""
    metrics_auth: bool = False
    """Whether ``/metrics`` needs a bearer token."""
    webhooks: tuple[Webhook, ...] = ()
    """The webhooks of validators and defaults that the program serves."""
    converts: bool = False
    """Whether the program serves conversions between versions of its kinds."""
    webhook_certificates: Literal["managed", "cert-manager"] = "managed"
    """Who makes the certificate of the webhooks: the program itself, or cert-manager."""
    admissions: tuple[type[Admission[Any]], ...] = ()
    """The Admission classes of the program, whose CEL rules become policies."""
    image_source: ImageSource | None = None
    """What the image is built from; None if the program has a Dockerfile of its own."""

    def __post_init__(self) -> None:
        for option, value in (("--name", self.name), ("--namespace", self.namespace)):
            if not _LABEL.fullmatch(value):
                raise UsageError(
                    f"{option} {value!r} is not a name that Kubernetes accepts.\n"
                    "  fix: use lower case letters, digits and dashes, at most 63 of them"
                )

    @property
    def lease(self) -> str:
        """The name of the Lease that replicas lead with."""
        return self.name

    @property
    def metrics_service(self) -> str:
        """The name of the Service that metrics are scraped from, and the label ``job`` of them."""
        return f"{self.name}-metrics"

    @property
    def serves_webhooks(self) -> bool:
        """Whether the API server calls the program."""
        return bool(self.webhooks) or self.converts

    @property
    def webhook_service(self) -> str:
        """The name of the Service of the webhooks, and of the Secret with their certificate."""
        return f"{self.name}-webhooks"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that find the pods."""
        return {"app.kubernetes.io/name": self.name}

"""The validator of ``webhook_rules.py`` for kopf, as its users would write it."""

import os
from typing import Any

import kopf


@kopf.on.startup()  # type: ignore[untyped-decorator]
def serve(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Serve at the port and with the certificate that the benchmark gives."""
    folder, port = os.environ["BENCH_CERTIFICATES"], int(os.environ["BENCH_PORT"])
    settings.admission.managed = "bench.kopf.dev"
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="127.0.0.1",
        port=port,
        certfile=f"{folder}/tls.crt",
        pkeyfile=f"{folder}/tls.key",
        cafile=f"{folder}/ca.crt",
    )


@kopf.on.validate(  # type: ignore[untyped-decorator]
    "configmaps", operation="CREATE", labels={"bench": kopf.PRESENT}
)
def has_data(body: kopf.Body, **_: Any) -> None:
    """Look at one field."""
    if not body.get("data"):
        raise kopf.AdmissionError("data must not be empty", code=422)

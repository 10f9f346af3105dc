"""What `myrmidon server` and the workbench share to serve the embedded API server on this machine."""

import errno
import os
import random
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from myrmidon.apiserver.auth.signing import SigningKey, new_key
from myrmidon.apiserver.requests.environment import SUFFIX_LENGTH, SUFFIX_LETTERS
from myrmidon.cli.arguments.files import write_file
from myrmidon.errors import UsageError


def new_token() -> str:
    """A random token for the administrator."""
    import secrets  # noqa: PLC0415 - only without --token

    return secrets.token_urlsafe(24)


def new_signing_key() -> SigningKey:
    """A random key for the tokens of service accounts: with cryptography quickly, if it is installed."""
    import secrets  # noqa: PLC0415 - only when the first token is asked for

    try:
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415
    except ImportError:
        return new_key(secrets.randbits)
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    return SigningKey(numbers.p, numbers.q)


class RealEnvironment:
    """The clock of this machine, and its randomness."""

    def now(self) -> datetime:
        """The time."""
        return datetime.now(UTC)  # noqa: TID251 - where the program meets the world

    def uid(self) -> str:
        """A random uid."""
        return str(uuid.uuid4())

    def suffix(self) -> str:
        """Random letters."""
        return "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311 - no secret


def cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    """Why there is no server."""
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"cannot listen on {host}:{port}: address already in use.\n"
            "  fix: stop what uses the port, or leave --port out for a free one"
        )
    return UsageError(
        f"cannot listen on {host}:{port}: {_reason(error)}.\n"
        "  fix: choose an address of this machine, and a port above 1023 unless you are root"
    )


def _reason(error: OSError) -> str:
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def write_kubeconfig(path: Path, url: str, token: str = "", authority: bytes = b"") -> None:
    """Write a kubeconfig for a server; without a token every local client is its administrator.

    kubectl leaves out the token over plain HTTP, so there it is part of the address.
    """
    import base64  # noqa: PLC0415 - only with --kubeconfig-out
    import json  # noqa: PLC0415

    plain = url.startswith("http://")
    cluster: dict[str, Any] = {"server": f"{url}/token/{token}" if plain and token else url}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "myrmidon", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "myrmidon", "context": {"cluster": "myrmidon", "user": "admin"}}],
        "current-context": "myrmidon",
    }
    write_file(path, json.dumps(config, indent=2) + "\n", mode=0o600)  # YAML reads JSON

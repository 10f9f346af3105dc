"""A certificate for one run of the server: made in memory, signed by itself."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID_DAYS = 30


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, as PEM."""

    pem: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        """What a server needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:  # ssl reads files only
            path = Path(folder, "server.pem")
            path.touch(mode=0o600)
            path.write_bytes(self.pem + self.key)
            context.load_cert_chain(path)
        return context


def make_certificate(host: str) -> Certificate:
    """A certificate for a host and for this machine's own names."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "myrmidon")])
    now = datetime.now(UTC)  # noqa: TID251 - certificates are about real time
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _names(host: str) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        x509.IPAddress(ip_address("127.0.0.1")),
    ]
    if host in {"127.0.0.1", "localhost"}:
        return names
    try:
        return [*names, x509.IPAddress(ip_address(host))]
    except ValueError:
        return [*names, x509.DNSName(host)]

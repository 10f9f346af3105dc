"""Certificates and keys of a control plane that lives for minutes."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAMES: list[x509.GeneralName] = [
    x509.DNSName("localhost"),
    x509.DNSName("kubernetes.default.svc"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
]


def write_pki(folder: Path) -> None:
    """Write ca.crt, server.crt, server.key, and the pair sa.key and sa.pub for service accounts.

    The key of the CA is dropped: nobody needs to sign anything later.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ca_key, server_key, account_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    ca_name = name("myrmidon-test-ca")
    ca = (
        certificate(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(sign_certificates=True), critical=True)
        .add_extension(identifier(ca_key), critical=False)
        .sign(ca_key, SHA256())
    )
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    server = (
        certificate(name("kube-apiserver"), ca_name, server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(NAMES), critical=False)
        .add_extension(identifier(server_key), critical=False)
        .add_extension(authority, critical=False)
        .sign(ca_key, SHA256())
    )
    (folder / "ca.crt").write_bytes(ca.public_bytes(Encoding.PEM))
    (folder / "server.crt").write_bytes(server.public_bytes(Encoding.PEM))
    write_key(folder / "server.key", server_key)
    write_key(folder / "sa.key", account_key)
    public = account_key.public_key()
    (folder / "sa.pub").write_bytes(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )


def name(common: str) -> x509.Name:
    """Make a name of one part."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """Begin a certificate that is valid from yesterday, whatever the clocks say, for a month."""
    now = datetime.now(UTC)  # noqa: TID251  # TLS compares with the real clock
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
    )


def identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    """Identify a key; Python 3.13 verifies strictly and refuses certificates without it."""
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def key_usage(*, sign_certificates: bool) -> x509.KeyUsage:
    """Allow a CA to sign certificates, and a server to sign handshakes."""
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """Write a private key that only we can read."""
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )

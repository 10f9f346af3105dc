"""Certificates and keys of servers and users, valid for minutes."""

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


class Authority:
    """Signs certificates as long as it exists; its key is never written to a file."""

    def __init__(
        self,
        common: str = "myrmidon-test-ca",
        *,
        has_key_usage: bool = True,
        signed_by: "Authority | None" = None,
    ) -> None:
        self._name, self._key = name(common), ec.generate_private_key(ec.SECP256R1())
        signer = signed_by or self
        built = (
            certificate(self._name, signer._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(identifier(self._key), critical=False)
        )
        if has_key_usage:
            built = built.add_extension(key_usage(sign_certificates=True), critical=True)
        self._certificate = built.sign(signer._key, SHA256())

    def write(self, path: Path) -> None:
        """Write the CA certificate."""
        path.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue_server(
        self, stem: Path, common: str, *, expires: timedelta = timedelta(days=30)
    ) -> None:
        """Write ``stem.crt`` and ``stem.key`` of a server on this machine."""
        self._issue(stem, name(common), ExtendedKeyUsageOID.SERVER_AUTH, NAMES, expires)

    def issue_client(
        self, stem: Path, user: str, *groups: str, expires: timedelta = timedelta(days=30)
    ) -> None:
        """Write ``stem.crt`` and ``stem.key`` of a user; a time that is below zero has passed."""
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        self._issue(stem, name(user, *groups), usage, [x509.DNSName("client")], expires)

    def _issue(
        self,
        stem: Path,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        names: list[x509.GeneralName],
        expires: timedelta = timedelta(days=30),
    ) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        signed = (
            certificate(subject, self._name, key.public_key(), expires)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(identifier(key), critical=False)
            .add_extension(authority, critical=False)
            .sign(self._key, SHA256())
        )
        stem.with_suffix(".crt").write_bytes(signed.public_bytes(Encoding.PEM))
        write_key(stem.with_suffix(".key"), key)


def write_pki(folder: Path) -> Authority:
    """Write ca.crt, server.crt, server.key, and the pair sa.key and sa.pub for service accounts."""
    folder.mkdir(parents=True, exist_ok=True)
    authority, account_key = Authority(), ec.generate_private_key(ec.SECP256R1())
    authority.write(folder / "ca.crt")
    authority.issue_server(folder / "server", "kube-apiserver")
    write_key(folder / "sa.key", account_key)
    public = account_key.public_key()
    (folder / "sa.pub").write_bytes(
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return authority


def name(common: str, *groups: str) -> x509.Name:
    """Make the name of a user; the API server takes organizations for groups."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    expires: timedelta = timedelta(days=30),
) -> x509.CertificateBuilder:
    """Begin a certificate that is valid from yesterday, whatever the clocks say."""
    now = datetime.now(UTC)  # noqa: TID251  # TLS compares with the real clock
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + expires)
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

"""Makes and reads the certificates that a program manages itself.

A certificate authority for this program alone, and serving certificates that it signs, with keys on
the curve P-256.  The only module of the package that needs the library cryptography, which is
installed by ``myrmidon[webhooks]``.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from myrmidon.runtime.webhooks.rotation import (
    BACKDATED,
    CertificateTerms,
    HeldCertificates,
    Issued,
    RotationStep,
)

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
TLS_CERTIFICATE, TLS_KEY = "tls.crt", "tls.key"


def held_of(data: dict[str, bytes]) -> HeldCertificates | None:
    """Return what the data of a Secret holds; None if it cannot be used."""
    try:
        authorities = x509.load_pem_x509_certificates(data[CA_CERTIFICATE])
        serving = x509.load_pem_x509_certificate(data[TLS_CERTIFICATE])
        serialization.load_pem_private_key(data[CA_KEY], None)
        serialization.load_pem_private_key(data[TLS_KEY], None)
    except (KeyError, ValueError, TypeError):
        return None
    issuer = next(
        (_issued(each).fingerprint for each in authorities if _is_signed_by(serving, each)), ""
    )
    return HeldCertificates(
        tuple(map(_issued, authorities)), _issued(serving), issuer, _names(serving)
    )


def fingerprints(bundle: bytes) -> set[str]:
    """Return the fingerprints of the certificates in a bundle; empty if it cannot be read."""
    try:
        return {_issued(each).fingerprint for each in x509.load_pem_x509_certificates(bundle)}
    except ValueError:
        return set()


def carried_out(
    step: RotationStep,
    data: dict[str, bytes],
    now: datetime,
    names: Collection[str],
    terms: CertificateTerms,
) -> dict[str, bytes]:
    """Return the data of the Secret after a step."""
    match step:
        case RotationStep.CREATE:
            certificate, key = _authority(now, terms.authority)
            made = {CA_CERTIFICATE: certificate, CA_KEY: key}
            return made | _serving(made, now, names, terms.serving)
        case RotationStep.ADD:
            certificate, key = _authority(now, terms.authority)
            return {**data, CA_CERTIFICATE: certificate + data[CA_CERTIFICATE], CA_KEY: key}
        case RotationStep.SERVE:
            return data | _serving(data, now, names, terms.serving)
        case RotationStep.DROP:
            newest = x509.load_pem_x509_certificates(data[CA_CERTIFICATE])[0]
            return {**data, CA_CERTIFICATE: _pem(newest)}
        case RotationStep.NONE:
            return data


def _authority(now: datetime, life: timedelta) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    number = x509.random_serial_number()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"myrmidon webhooks {number:x}")])
    builder = _builder(name, name, key, now, life).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    return _pem(builder.sign(key, hashes.SHA256())), _key_pem(key)


def _serving(
    data: dict[str, bytes], now: datetime, names: Collection[str], life: timedelta
) -> dict[str, bytes]:
    """Return a new serving certificate, signed by the newest authority of the data."""
    authority = x509.load_pem_x509_certificates(data[CA_CERTIFICATE])[0]
    signer = serialization.load_pem_private_key(data[CA_KEY], None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey), "made by this module"
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "myrmidon webhooks")])
    certificate = (
        _builder(subject, authority.subject, key, now, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([_general_name(each) for each in names]), critical=False
        )
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return {TLS_CERTIFICATE: _pem(certificate), TLS_KEY: _key_pem(key)}


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + life)
    )


def _issued(certificate: x509.Certificate) -> Issued:
    return Issued(
        certificate.fingerprint(hashes.SHA256()).hex(),
        certificate.not_valid_before_utc + BACKDATED,
        certificate.not_valid_after_utc,
    )


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - of several libraries, all of which mean no
        return False
    return True


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return frozenset((*found.get_values_for_type(x509.DNSName), *addresses))


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )

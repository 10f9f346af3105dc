"""The TLS context with which servers are verified."""

import ssl


def client_context(cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """Return a context that verifies servers, and accepts the certificates that kubectl accepts.

    Python 3.13 demands of each CA the extensions that RFC 5280 asks for, and many a cluster's CA
    has no key usage.  Go does not ask for it, and takes an intermediate CA for a trusted one if it
    is all that the file holds.  The signature, the validity and the name are verified all the same.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context

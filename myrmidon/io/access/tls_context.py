"""The TLS context that verifies server certificates."""

import ssl


def client_context(cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """Return a context that verifies servers, and accepts the certificates that kubectl accepts.

    Python 3.13 requires every extension that RFC 5280 asks of a CA, but the CA of many clusters has
    no key usage.  Go does not check that, and trusts an intermediate CA if the CA file has only
    that one.  So both checks are turned off; signature, validity and host name are still verified.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context

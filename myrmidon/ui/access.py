"""Who may see the page, and what a browser may do with it.

The address that is printed at the start contains a token.  The first visit exchanges it for a cookie,
so that it does not stay in the address bar.  The cookie is ``HttpOnly`` and ``SameSite=Strict``, and
contains a hash of the token.  An ``Authorization: Bearer`` header works as well, for scripts.

A request that changes something must also come from the page itself: its ``Origin`` is that of the
page, and the form contains a value that only the page knows.

The Content-Security-Policy allows scripts and styles from this server alone, none inside a page, and
no request to another origin.
"""

import hashlib
import hmac
from collections.abc import Mapping

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, forms would have the Origin null
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageAccess:
    """Decides about requests, given the token of the page."""

    def __init__(self, token: str) -> None:
        self._token = token
        self.cookie = self._hashed("cookie")
        self.form_value = self._hashed("form")

    def is_token(self, given: str) -> bool:
        """Whether this is the token; takes the same time for every wrong one."""
        return hmac.compare_digest(given.encode(), self._token.encode())

    def is_cookie(self, given: str) -> bool:
        """Whether this is the value of the cookie."""
        return hmac.compare_digest(given.encode(), self.cookie.encode())

    def may_see(self, cookie: str, authorization: str) -> bool:
        """Whether a request with this cookie and ``Authorization`` header may see the page."""
        scheme, _, given = authorization.partition(" ")
        return self.is_cookie(cookie) or (scheme.lower() == "bearer" and self.is_token(given))

    def may_change(self, origin: str, host: str, form_value: str) -> bool:
        """Whether a form was sent by the page itself."""
        same = origin.partition("://")[2] == host and bool(host)
        return same and hmac.compare_digest(form_value.encode(), self.form_value.encode())

    def _hashed(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), purpose.encode(), hashlib.sha256).hexdigest()

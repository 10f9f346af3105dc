"""Who signs the tokens of service accounts: the documents of OpenID Connect discovery.

A program outside the cluster verifies a token with them, without asking the server for a review.
"""

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.account_tokens import ISSUER, AccountTokens
from myrmidon.apiserver.auth.signing import ALGORITHM
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.refusals.failures import method_not_allowed

_CONFIGURATION, _KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
PATHS = frozenset({_CONFIGURATION, _KEYS})
_CACHED = ("cache-control", "public, max-age=3600")


def answer(path: str, request: HttpRequest, accounts: AccountTokens) -> HttpResponse:
    """Return the document of one of the ``PATHS``."""
    if request.method not in {"GET", "HEAD"}:
        raise method_not_allowed()
    if path == _KEYS:
        keys = go_json.encode({"keys": [accounts.key.public()]})
        return HttpResponse(200, (("content-type", "application/jwk-set+json"), _CACHED), keys)
    host = request.headers.get("host", "127.0.0.1:443")
    document = {
        "issuer": ISSUER,
        "jwks_uri": f"https://{host}{_KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
    }
    headers = (("content-type", "application/json"), _CACHED)
    return HttpResponse(200, headers, go_json.encode(document))

"""Tokens of service accounts: signed by the server, bound to the account and perhaps to an object.

A token is a JSON Web Token.  It names the account with its uid, the audiences that may accept it,
when it ends, and the Pod, Secret or Node that it is bound to.  ``read`` accepts a token if this
server signed it, it has not ended, one of its audiences is wanted, and the account and the bound
object still exist with the same uids.  The store is read for each token, so that a deleted account
or Pod ends its tokens at once; the real server remembers an accepted token for some seconds.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.auth.signing import (
    ALGORITHM,
    SigningKey,
    decode_part,
    encode_part,
    fixed_key,
)
from myrmidon.apiserver.auth.users import AUTHENTICATED, User
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.golang.text import quote
from myrmidon.apiserver.store import ObjectStore

ISSUER = "https://kubernetes.default.svc"
BOUND = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
_PREFIX = "system:serviceaccount"
_CLAIMS = "kubernetes.io"
_EXTRA = "authentication.kubernetes.io"
_LEEWAY = timedelta(minutes=1)  # between the clocks of machines, as in the real server


class TokenError(Exception):
    """The token is not accepted; the message is the real server's, or empty for a foreign token."""


def account_user(namespace: str, name: str, uid: str = "", extra: Any = ()) -> User:
    """Return the user as which a service account sends its requests."""
    groups = (f"{_PREFIX}s", f"{_PREFIX}s:{namespace}", AUTHENTICATED)
    return User(f"{_PREFIX}:{namespace}:{name}", groups, uid, extra)


class AccountTokens:
    """Issues and reads the tokens of one server.  The key is made when it is needed first."""

    def __init__(self, store: ObjectStore, make_key: Callable[[], SigningKey] = fixed_key) -> None:
        self._store, self._make_key = store, make_key

    @cached_property
    def key(self) -> SigningKey:
        """The key of the server."""
        return self._make_key()

    def issue(
        self,
        account: Json,
        audiences: Sequence[str],
        *,
        since: datetime,
        until: datetime,
        token_id: str,
        bound: Json | None = None,
    ) -> str:
        """Return a token of a service account; ``bound`` is the object that it ends with."""
        meta = account["metadata"]
        about: Json = {
            "namespace": meta["namespace"],
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
        }
        if bound is not None:
            about[bound["kind"].lower()] = {
                "name": bound["metadata"]["name"],
                "uid": bound["metadata"]["uid"],
            }
        claims = {
            "aud": list(audiences),
            "exp": int(until.timestamp()),
            "iat": int(since.timestamp()),
            "iss": ISSUER,
            "jti": token_id,
            _CLAIMS: dict(sorted(about.items())),
            "nbf": int(since.timestamp()),
            "sub": f"{_PREFIX}:{meta['namespace']}:{meta['name']}",
        }
        head = go_json.encode({"alg": ALGORITHM, "kid": self.key.key_id})
        content = f"{encode_part(head)}.{encode_part(go_json.encode(claims))}"
        return f"{content}.{encode_part(self.key.sign(content.encode()))}"

    def read(
        self, token: str, now: datetime, audiences: Sequence[str] = (ISSUER,)
    ) -> tuple[User, list[str]]:
        """Return the user of a token, and which of the wanted audiences it has; raise ``TokenError``."""
        claims = self._claims(token)
        if now > datetime.fromtimestamp(claims["exp"], now.tzinfo) + _LEEWAY:
            raise TokenError("service account token has expired")
        common = [each for each in claims["aud"] if each in audiences]
        if not common:
            raise TokenError(
                f"token audiences {_listed(claims['aud'])} is invalid for the target audiences "
                f"{_listed(audiences)}"
            )
        about = claims[_CLAIMS]
        account = about["serviceaccount"]
        self._check_account(about["namespace"], account)
        extra = {f"{_EXTRA}/credential-id": (f"JTI={claims['jti']}",)}
        for kind, resource in BOUND.items():
            bound = about.get(kind.lower())
            if bound is not None:
                where = "" if kind == "Node" else f"{about['namespace']}/"
                if not self._is_there(resource, f"{where}{bound['name']}", bound["uid"]):
                    raise TokenError("service account token has been invalidated")
                if kind != "Secret":
                    extra[f"{_EXTRA}/{kind.lower()}-name"] = (bound["name"],)
                    extra[f"{_EXTRA}/{kind.lower()}-uid"] = (bound["uid"],)
        user = account_user(
            about["namespace"], account["name"], account["uid"], tuple(extra.items())
        )
        return user, common

    def _claims(self, token: str) -> Json:
        content, _, signature = token.rpartition(".")
        _, _, payload = content.partition(".")
        try:
            signed = decode_part(signature)
            claims: Any = go_json.decode(decode_part(payload))
        except ValueError:
            raise TokenError from None
        if not isinstance(claims, dict) or claims.get("iss") != ISSUER:
            raise TokenError
        if not self.key.is_signature(signed, content.encode()):
            raise TokenError("go-jose/go-jose: error in cryptographic primitive")
        return claims  # signed by this server, so it has the claims of ``issue``

    def _check_account(self, namespace: str, account: Json) -> None:
        record = self._store.get("serviceaccounts", f"{namespace}/{account['name']}")
        if record is None:
            raise TokenError(f"serviceaccounts {quote(account['name'])} not found")
        found = record.value["metadata"]["uid"]
        if found != account["uid"]:
            raise TokenError(
                f"service account UID ({found}) does not match claim ({account['uid']})"
            )

    def _is_there(self, resource: str, key: str, uid: str) -> bool:
        record = self._store.get(resource, key)
        return record is not None and record.value["metadata"]["uid"] == uid

    def bound_object(self, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object that a token is to be bound to, or None."""
        key = name if kind == "Node" else f"{namespace}/{name}"
        record = self._store.get(BOUND[kind], key)
        return None if record is None else {**record.value, "kind": kind}


def _listed(texts: Sequence[str]) -> str:
    return "[" + " ".join(quote(text) for text in texts) + "]"

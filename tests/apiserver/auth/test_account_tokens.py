"""Tokens of service accounts: who is accepted, until when, and what ends a token."""

import random
from datetime import timedelta
from functools import cache
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.account_tokens import ISSUER
from myrmidon.apiserver.auth.signing import decode_part, encode_part, fixed_key, new_key
from myrmidon.apiserver.auth.users import ADMIN
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer

BOT = "system:serviceaccount:default:bot"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/bot/token"


class Served:
    """A server with RBAC, an account `bot` and a Pod that runs as it."""

    def __init__(self) -> None:
        self.environment = CountingEnvironment()
        self.server = ApiServer(
            environment=self.environment, users={"admin-token": ADMIN}, rbac=True
        )
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "runner"},
            "spec": {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]},
        }
        assert self.server.create(account) == ""
        assert self.server.create(pod) == ""

    def ask(
        self, method: str, path: str, body: Any = None, token: str = "admin-token"
    ) -> tuple[int, Any]:
        """Send a request with a token; return the status and the body."""
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        sent = orjson.dumps(body) if body is not None else b""
        answer = self.server.answer(HttpRequest(method, path, (), headers, sent))
        assert isinstance(answer, HttpResponse)
        return answer.status, orjson.loads(answer.body)

    def token(self, **spec: Any) -> str:
        """Ask for a token of the account."""
        status, made = self.ask("POST", TOKENS, {"spec": spec})
        assert status == 201, made
        return str(made["status"]["token"])

    def review(self, token: str, *audiences: str) -> Any:
        """Return the status of a TokenReview."""
        spec = {"token": token, "audiences": list(audiences)}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        return self.ask("POST", path, {"spec": spec})[1]["status"]

    def name_of(self, token: str) -> str:
        """Return the user that a token identifies, or the code of the refusal."""
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        status, body = self.ask("POST", path, {}, token)
        return str(body["status"]["userInfo"]["username"]) if status == 201 else str(status)


@pytest.fixture
def served() -> Served:
    """A server with an account."""
    return Served()


def test_a_token_identifies_its_account(served: Served) -> None:
    """RBAC then decides, as for every user."""
    token = served.token()

    assert served.name_of(token) == BOT
    assert served.ask("GET", "/api/v1/pods", token=token)[0] == 403
    assert served.review(token)["user"] == {
        "username": BOT,
        "uid": "00000000-0000-4000-8000-" + served.review(token)["user"]["uid"][24:],
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ],
        "extra": served.review(token)["user"]["extra"],
    }
    assert list(served.review(token)["user"]["extra"]) == [
        "authentication.kubernetes.io/credential-id"
    ]


def test_a_token_ends(served: Served) -> None:
    """With one minute for clocks that differ."""
    token = served.token(expirationSeconds=600)
    served.environment.time += timedelta(seconds=660)
    last = served.name_of(token)
    served.environment.time += timedelta(seconds=1)

    assert last == BOT
    assert served.name_of(token) == "401"
    assert served.review(token)["error"] == (
        "[invalid bearer token, service account token has expired]"
    )


def test_a_token_is_for_its_audiences(served: Served) -> None:
    """A token for another service does not open this server."""
    token = served.token(audiences=["vault", "registry"])

    assert served.name_of(token) == "401"
    assert served.review(token)["error"] == (
        '[invalid bearer token, token audiences ["vault" "registry"] is invalid for the target '
        f'audiences ["{ISSUER}"]]'
    )
    assert served.review(token, "registry", "else")["audiences"] == ["registry"]


def test_a_token_ends_with_the_object_that_it_is_bound_to(served: Served) -> None:
    """And names it, for admission webhooks and audits."""
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "runner"}
    token = served.token(boundObjectRef=bound)
    extra = served.review(token)["user"]["extra"]
    served.ask("DELETE", "/api/v1/namespaces/default/pods/runner", {"gracePeriodSeconds": 0})

    assert extra["authentication.kubernetes.io/pod-name"] == ["runner"]
    assert served.name_of(token) == "401"
    assert served.review(token)["error"] == (
        "[invalid bearer token, service account token has been invalidated]"
    )


def test_a_token_ends_with_its_account(served: Served) -> None:
    """A new account of the same name is another one."""
    token = served.token()
    served.ask("DELETE", "/api/v1/namespaces/default/serviceaccounts/bot")
    gone = served.review(token)["error"]
    served.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "bot"}})

    assert gone == '[invalid bearer token, serviceaccounts "bot" not found]'
    assert "does not match claim" in served.review(token)["error"]
    assert served.name_of(token) == "401"


@cache
def long_lived() -> tuple[Served, str]:
    """A server and a token of it, for many attempts."""
    served = Served()
    return served, served.token()


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_no_changed_token_is_accepted(place: int, change: int) -> None:
    """Whichever byte of the claims or of the signature was changed."""
    served, token = long_lived()
    parts = token.split(".")
    part = 1 + place % 2
    content = bytearray(decode_part(parts[part]))
    content[place % len(content)] ^= change
    parts[part] = encode_part(bytes(content))

    assert served.name_of(".".join(parts)) == "401"


@pytest.mark.parametrize("token", ["a.b.c", "..", "e30.e30.e30", "é.ü.x", "x"])
def test_other_texts_are_refused(served: Served, token: str) -> None:
    """What is not a token is a 401, never an error of the server."""
    assert served.name_of(token) == "401"
    assert served.review(token)["error"] == "invalid bearer token"


@pytest.mark.parametrize(
    ("bound", "code", "reason"),
    [
        ({"kind": "Pod", "name": "nope"}, 404, 'pods "nope" not found'),
        ({"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}, 400, "/v1, Kind=ConfigMap"),
        ({"kind": "Pod", "name": "runner", "uid": "x"}, 409, "does not match the UID in record"),
    ],
)
def test_the_bound_object_must_exist(
    served: Served, bound: dict[str, str], code: int, reason: str
) -> None:
    """A token for an object that does not exist would never end."""
    status, body = served.ask("POST", TOKENS, {"spec": {"boundObjectRef": bound}})

    assert status == code
    assert reason in body["message"]


def test_the_published_key_verifies_tokens(served: Served) -> None:
    """Programs outside the cluster verify tokens with any library."""
    token = served.token()
    _, about = served.ask("GET", "/.well-known/openid-configuration")
    _, published = served.ask("GET", "/openid/v1/jwks")
    [key] = published["keys"]
    numbers = rsa.RSAPublicNumbers(
        int.from_bytes(decode_part(key["e"])), int.from_bytes(decode_part(key["n"]))
    )
    content, _, signature = token.rpartition(".")
    head = orjson.loads(decode_part(content.partition(".")[0]))

    numbers.public_key().verify(
        decode_part(signature), content.encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert head == {"alg": "RS256", "kid": key["kid"]}
    assert about["issuer"] == ISSUER
    assert about["jwks_uri"].endswith("/openid/v1/jwks")


def test_a_server_with_another_key_refuses_the_token() -> None:
    """Each server of the command line has a key of its own."""
    key = new_key(random.Random(1).getrandbits)
    content = b"content"

    assert key.is_signature(key.sign(content), content)
    assert not fixed_key().is_signature(key.sign(content), content)
    assert key.modulus.bit_length() == 2048


def test_an_open_server_knows_its_accounts_too() -> None:
    """Without tokens of users, a request without a token is the administrator's."""
    served = Served()
    served.server = ApiServer()
    served.server.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}}
    )
    token = served.token()

    assert served.name_of(token) == BOT
    assert served.name_of("anything") == ADMIN.name

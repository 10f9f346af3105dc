"""Who may read /metrics: the API server decides, by TokenReview and SubjectAccessReview.

With ``ManagerOptions.metrics_auth``, a scrape needs a bearer token of the cluster:

1. A TokenReview turns the token into a user.  Without a valid one the answer is 401.
2. A SubjectAccessReview asks whether that user may ``get`` the path ``/metrics``, which a
   ClusterRole with ``nonResourceURLs: ["/metrics"]`` grants.  If not, the answer is 403.

These are the questions that kube-rbac-proxy and controller-runtime ask, so roles for them work
here, too.  Answers are kept for a minute (refusals for ten seconds), by a hash of the token, so that
a scrape every few seconds costs two requests a minute.  If the API server cannot be asked, the
answer is 503: a scrape is refused rather than let in unchecked.

The process needs the rights to create these two reviews; ``myrmidon generate rbac --metrics-auth``
writes the roles.
"""

from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import ApiError, TransportError
from myrmidon.io.client import Client

PATH = "/metrics"
TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False)
ACCESS_REVIEW = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
_ALLOWED_SECONDS, _REFUSED_SECONDS = 60.0, 10.0
_KEPT_MAX = 100


class Refusal(NamedTuple):
    """The answer to a scrape that is not let in."""

    status: int
    message: str


class ScrapeAccess:
    """Checks the bearer token of scrapes.

    ``client`` must not be fenced by the leader election: replicas that stand by are scraped, too.
    """

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._known: OrderedDict[bytes, tuple[float, Refusal | None]] = OrderedDict()

    async def refusal(self, authorization: str) -> Refusal | None:
        """Return why a scrape with this Authorization header is refused; None if it is allowed."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Refusal(401, "a bearer token is needed")
        key = sha256(token.encode("utf-8", "surrogateescape")).digest()
        now = self._clock.monotonic()
        until, known = self._known.get(key, (0.0, None))
        if now < until:
            return known
        try:
            known = await self._asked(token)
        except (ApiError, TransportError) as error:
            return Refusal(503, f"the token cannot be checked: {error}")
        self._known[key] = (now + (_REFUSED_SECONDS if known else _ALLOWED_SECONDS), known)
        self._known.move_to_end(key)
        if len(self._known) > _KEPT_MAX:
            self._known.popitem(last=False)
        return known

    async def _asked(self, token: str) -> Refusal | None:
        review = await self._review(TOKEN_REVIEW, {"token": token})
        user = review.get("user") or {}
        if not review.get("authenticated"):
            return Refusal(401, "the token is not valid")
        asked: Json = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": PATH, "verb": "get"},
        }
        allowed = (await self._review(ACCESS_REVIEW, asked)).get("allowed")
        return None if allowed else Refusal(403, f"{asked['user']} may not get {PATH}")

    async def _review(self, kind: Kind, spec: Json) -> Json:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
        answer = await self._client.send(Request(Verb.CREATE, ObjectRef(kind, "", ""), body))
        status = answer.get("status")
        return status if isinstance(status, dict) else {}

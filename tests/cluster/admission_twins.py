"""The same writes on a real API server and on the embedded one, with the same admission configured.

One webhook, in a thread, answers both; what each server asked it is compared as well as the answers to
the client.  uids, times and revisions differ without meaning and are masked.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from myrmidon.api.requests.transport import HttpRequest
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from tests.apiserver.admission.policy_cases import CONFIG_MAPS, GROUP, steady
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.conversion_webhook import ConversionWebhook, conversion_webhook
from tests.cluster.twins import Answer, Ask, Twins

_ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")
_PROBE = {"metadata": {"name": "probe", "labels": {"probe": "yes"}}}


class Told(NamedTuple):
    """What one server did with a request: its answer, and the reviews that it sent."""

    answer: Answer
    reviews: list[Any]


class AdmissionTwins:
    """Two servers and one webhook; ``judge`` is the function that answers its reviews."""

    def __init__(self, plane: ControlPlane, hook: ConversionWebhook, loop: asyncio.Runner) -> None:
        self.embedded, self._loop = ApiServer(), loop
        self.hook = hook
        self._real = Twins(plane, self.embedded)
        self.judge: Callable[[Any], Any] = allow
        hook.review = lambda review: allow(review) if _is_probe(review) else self.judge(review)

    def both(self, ask: Ask) -> tuple[Told, Told]:
        """Send a request to both."""
        return self.real(ask), self.ours(ask)

    def real(self, ask: Ask) -> Told:
        """Send a request to the real server."""
        self.hook.reviews.clear()
        answer = self._real._ask_real(ask)
        return Told(answer, list(self.hook.reviews))

    def ours(self, ask: Ask) -> Told:
        """Send a request to the embedded server."""
        self.hook.reviews.clear()
        body = b"" if ask.body is None else json.dumps(ask.body).encode()
        headers = {"accept": "application/json", "user-agent": "twins/1.0"}
        headers |= {} if ask.body is None else {"content-type": ask.content_type}
        request = HttpRequest(ask.method, ask.path, ask.query, headers, body)
        response = self._loop.run(LocalTransport(self.embedded, user=_ADMIN).send(request))
        warnings = [value for key, value in response.headers if key == "warning"]
        answer = Answer(response.status, json.loads(response.body or b"null"), warnings)
        return Told(answer, list(self.hook.reviews))

    def differences(self, *asks: Ask) -> list[str]:
        """Send requests to both, and return where they differ: answers, warnings and reviews."""
        found = []
        for ask in asks:
            theirs, ours = self.both(ask)
            for part, one, other in (
                ("status", theirs.answer.status, ours.answer.status),
                ("body", theirs.answer.body, ours.answer.body),
                ("warnings", theirs.answer.warnings, ours.answer.warnings),
                ("reviews", theirs.reviews, ours.reviews),
            ):
                if steady(one) != steady(other):
                    said = f"\n real: {json.dumps(steady(one))}\n ours: {json.dumps(steady(other))}"
                    found.append(f"{ask.method} {ask.path} {part}:{said}")
        return found

    # ------------------------------------------------------------------------- configurations

    @contextmanager
    def configured(self, *configurations: Any) -> Iterator[None]:
        """Install webhook configurations on both, and wait until the real server uses them."""
        paths = []
        for configuration in configurations:
            path = f"{GROUP}/{configuration['kind'].lower()}s"
            theirs, ours = self.both(Ask("POST", path, configuration))
            assert (theirs.answer.status, ours.answer.status) == (201, 201), (theirs, ours)
            paths.append(f"{path}/{configuration['metadata']['name']}")
        try:
            self._await(wanted=len(configurations))
            yield
        finally:
            for path in paths:
                self.both(Ask("DELETE", path))
            self._await(wanted=0)

    def _await(self, *, wanted: int) -> None:
        for _ in range(200):
            self.hook.reviews.clear()
            self._real._ask_real(Ask("POST", CONFIG_MAPS, _PROBE, query=(("dryRun", "All"),)))
            if sum(map(_is_probe, self.hook.reviews)) == wanted:
                return
            time.sleep(0.05)  # noqa: TID251 - a real server
        raise AssertionError("the real server does not use the configurations")

    def webhook(self, kind: str = "Validating", name: str = "w", **more: Any) -> Any:
        """Return a configuration with one webhook for everything in the namespace, and a probe."""
        every = {
            "operations": ["*"],
            "apiGroups": ["*"],
            "apiVersions": ["*"],
            "resources": ["*/*"],
        }
        common = {
            "clientConfig": self.hook.client,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "adm"}},
        }
        not_probed = {"matchExpressions": [{"key": "probe", "operator": "DoesNotExist"}]}
        probed = {"matchLabels": {"probe": "yes"}}
        hook = {"name": f"{name}.example.com", "rules": [every], **common, **more}
        hook.setdefault("objectSelector", not_probed)
        probe = {"name": "probe.example.com", "rules": [every], **common, "objectSelector": probed}
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [hook, probe],
        }


def _is_probe(review: Any) -> bool:
    return bool((review.get("request") or {}).get("name") == "probe")


def allow(review: Any, **more: Any) -> Any:
    """Return a reply that allows the write."""
    response = {"uid": review["request"]["uid"], "allowed": True, **more}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }


@contextmanager
def admission_twins(plane: ControlPlane, folder: Path) -> Iterator[AdmissionTwins]:
    """Yield both servers with the namespace ``adm``."""
    with conversion_webhook(folder, allow) as hook, asyncio.Runner() as loop:
        twins = AdmissionTwins(plane, hook, loop)
        # The namespace stays: no controller of the control plane ends the deletion of one.
        twins.both(Ask("POST", "/api/v1/namespaces", {"metadata": {"name": "adm"}}))
        plane.client().delete(CONFIG_MAPS)  # those of earlier tests
        yield twins
        loop.run(asyncio.sleep(5))  # noqa: TID251 - until a webhook that is late has closed its connection

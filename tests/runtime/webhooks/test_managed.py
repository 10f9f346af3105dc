"""Certificates that the program manages: one Secret, several replicas, rotated by the leader."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from myrmidon import WebhookOptions, kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.apiserver import ApiServer, LocalTransport
from myrmidon.errors import UsageError
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.logs import Logger
from myrmidon.runtime.webhooks import authority
from myrmidon.runtime.webhooks.rotation import CertificateTerms
from myrmidon.runtime.webhooks.service import WebhookService
from myrmidon.runtime.webhooks.tls import trust_problem
from myrmidon.runtime.webhooks.trust import bundles_of, with_bundle
from myrmidon.webhooks.admission.configurations import configurations
from myrmidon.webhooks.admission.webhooks import webhooks_of
from tests.runtime.webhooks.test_in_process import ConfigMapRules

TERMS = CertificateTerms(
    authority=timedelta(seconds=45),
    serving=timedelta(seconds=45),
    propagation=timedelta(seconds=2),
    overlap=timedelta(seconds=5),
)
WEBHOOKS = webhooks_of(ConfigMapRules())
SECRET = ObjectRef(kinds.SECRET, "shops-webhooks", "mall")


class ShiftedClock(LoopClock):
    """The real time and an offset: OpenSSL reads the real time.

    Certificates are valid from five minutes before they are made, so the offset may be up to that.
    """

    offset = timedelta(0)

    def now(self) -> datetime:
        """Return the shifted time."""
        return super().now() + self.offset


class Mall:
    """An API server with webhook configurations, and replicas that serve them."""

    def __init__(self, terms: CertificateTerms = TERMS) -> None:
        self.server, self.clock, self.terms = ApiServer(), ShiftedClock(), terms
        assert not self.server.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mall"}}
        )
        service = {"name": "shops-webhooks", "namespace": "mall"}
        for made in configurations(WEBHOOKS, "shops", lambda each: {"service": service}):
            assert not self.server.create(made)
        self.client = Client(LocalTransport(self.server))

    def replica(self, leads: Callable[[], bool] = lambda: True, **options: Any) -> WebhookService:
        """Return another replica."""
        return WebhookService(
            WebhookOptions(name="shops", terms=self.terms, poll=timedelta(seconds=1), **options),
            WEBHOOKS,
            None,  # type: ignore[arg-type]  # not served in these tests
            client=Client(LocalTransport(self.server)),
            leads=leads,
            namespace="mall",
            definitions=(),
            clock=self.clock,
            log=Logger("test"),
        )

    async def bundles(self) -> list[bytes]:
        """Return the bundles that the API server trusts."""
        found: list[bytes] = []
        for kind in (
            kinds.MUTATING_WEBHOOK_CONFIGURATION,
            kinds.VALIDATING_WEBHOOK_CONFIGURATION,
        ):
            found += bundles_of(await self.client.get(ObjectRef(kind, "shops")))
        return found

    async def secret(self) -> Json:
        """Return the Secret."""
        return await self.client.get(SECRET)


def test_the_first_replica_makes_the_certificate_and_the_leader_injects_its_authority() -> None:
    """A replica that does not lead creates the Secret, too, and is ready when it is trusted."""

    async def scenario() -> None:
        mall = Mall()
        follower, leader = mall.replica(lambda: False), mall.replica()
        await follower.round()
        assert "cannot be read" in str(follower.problem)
        await leader.round()
        assert leader.problem is None
        await follower.round()
        assert follower.problem is None
        secret = await mall.secret()
        assert secret["type"] == "kubernetes.io/tls"
        assert sorted(secret["data"]) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
        assert set(await mall.bundles()) == {authority_of(secret)}

    asyncio.run(scenario())


def authority_of(secret: Json) -> bytes:
    """Return the bundle in the Secret."""
    (found,) = bundles_of({"webhooks": [{"clientConfig": {"caBundle": secret["data"]["ca.crt"]}}]})
    return found


@pytest.mark.law("H3")
def test_replicas_agree_and_are_trusted_through_every_rotation() -> None:
    """Leader and follower, each a step behind the other, for fifty seconds of short lives."""

    async def scenario() -> int:
        mall = Mall()
        leader, follower = mall.replica(), mall.replica(lambda: False)
        seen: set[tuple[bytes, Any]] = set()  # handshakes are slow
        for second in range(50):
            mall.clock.offset = timedelta(seconds=second)
            for replica in (leader, follower):
                await replica.round()
                for trusted in await mall.bundles():
                    for each in (leader, follower):
                        if second and (trusted, each._loaded) not in seen:
                            seen.add((trusted, each._loaded))
                            assert trust_problem(each._context, trusted, each.host) is None
            if second:
                assert leader.problem is None
                assert follower.problem is None
        return len(seen)

    assert asyncio.run(scenario()) >= 3, "of bundles and certificates"


def test_a_former_leader_cannot_undo_a_step() -> None:
    """Q6: a write with an old resourceVersion is refused, and the round is repeated."""

    async def scenario() -> None:
        mall = Mall()
        first, second = mall.replica(), mall.replica()
        await first.round()
        mall.clock.offset = timedelta(seconds=31)
        secret = await mall.secret()

        async def old() -> Json:
            return secret

        await second.round()
        first._source._read = old  # type: ignore[attr-defined]
        stored = await mall.secret()
        await first.round()
        assert first.problem is None
        assert await mall.secret() == stored

    asyncio.run(scenario())


def test_two_replicas_that_start_together_use_one_certificate() -> None:
    """The second one finds the Secret when it wants to create it."""

    async def scenario() -> None:
        mall = Mall()
        first, second = mall.replica(), mall.replica()

        async def nothing() -> None:
            return None

        await first.round()
        reading, second._source._read = second._source._read, nothing  # type: ignore[attr-defined]
        original = second._source._client.create  # type: ignore[attr-defined]

        async def create(kind: Any, obj: Json) -> Json:
            second._source._read = reading  # type: ignore[attr-defined]
            created: Json = await original(kind, obj)
            return created

        second._source._client.create = create  # type: ignore[attr-defined]
        await second.round()
        assert second.problem is None
        assert second._loaded == first._loaded

    asyncio.run(scenario())


@pytest.mark.law("H3")
def test_a_bundle_that_another_writer_changes_is_put_back() -> None:
    """As GitOps tools do that apply the configuration without it."""

    async def scenario() -> None:
        mall = Mall()
        leader = mall.replica()
        await leader.round()
        ref = ObjectRef(kinds.VALIDATING_WEBHOOK_CONFIGURATION, "shops")
        obj = await mall.client.get(ref)
        del obj["webhooks"][0]["clientConfig"]["caBundle"]
        await mall.client.update(ref.kind, obj)
        await leader.round()
        assert leader.problem is None
        assert len(set(await mall.bundles())) == 1

    asyncio.run(scenario())


def test_a_secret_that_cannot_be_used_is_made_anew() -> None:
    """By the leader only."""

    async def scenario() -> None:
        mall = Mall()
        data = {"tls.crt": b64encode(b"no").decode(), "tls.key": b64encode(b"no").decode()}
        meta = {"name": SECRET.name, "namespace": SECRET.namespace}
        await mall.client.create(
            kinds.SECRET,
            {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data},
        )
        follower, leader = mall.replica(lambda: False), mall.replica()
        await follower.round()
        assert follower.problem
        await leader.round()
        assert leader.problem is None
        await follower.round()
        assert follower.problem is None

    asyncio.run(scenario())


def test_a_configuration_that_is_not_installed_is_named() -> None:
    """The process is not ready: no write is checked."""

    async def scenario() -> None:
        mall = Mall()
        await mall.client.delete(ObjectRef(kinds.VALIDATING_WEBHOOK_CONFIGURATION, "shops"))
        leader = mall.replica()
        await leader.round()
        assert leader.problem == "a webhook configuration is not installed: shops"

    asyncio.run(scenario())


def test_the_bundle_of_a_conversion_is_kept_as_well() -> None:
    """It stands in the CustomResourceDefinition."""
    definition = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "!"}}}}}

    changed = with_bundle(definition, b"pem")

    assert changed is not None
    assert bundles_of(definition) == [b""]
    assert bundles_of(changed) == [b"pem"]
    assert with_bundle(changed, b"pem") is None
    assert with_bundle({"spec": {}}, b"pem") is None


def test_options_that_cannot_work_are_refused() -> None:
    """With the fix."""
    with pytest.raises(UsageError, match="by HTTPS only"):
        WebhookOptions(url="http://laptop:9443")
    with pytest.raises(UsageError, match=r"within terms\.overlap"):
        WebhookOptions(poll=timedelta(hours=1))
    with pytest.raises(UsageError, match=r"write poll=timedelta\(seconds=3\)"):
        WebhookOptions(poll=3)  # type: ignore[arg-type]
    assert WebhookOptions(name="shops").secret == "shops-webhooks"


def test_fingerprints_of_what_is_not_a_bundle_are_none() -> None:
    """Anything can stand in a configuration."""
    assert authority.fingerprints(b"") == authority.fingerprints(b"x") == set()

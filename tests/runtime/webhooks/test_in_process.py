"""Webhooks in the harness: called in the process, in virtual time, for tests and controllers alike."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from myrmidon import (
    Admission,
    AdmissionContext,
    AdmissionRequest,
    Controller,
    Done,
    ManagerOptions,
    Model,
    OutputSet,
    Reads,
    Resource,
    Result,
    Rule,
    Status,
    Unstructured,
    defaults,
    kinds,
    state,
    validates,
)
from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ApiError, ForbiddenError, InvalidError
from myrmidon.testing import Harness
from myrmidon.testing.harness.webhooks import in_process_configurations


class ShopSpec(Model):
    """What a user asks for."""

    image: str = "shop:1"
    replicas: int | None = None
    seconds: int = 0  # how long the validator takes


class Shop(Resource[ShopSpec, Status], group="demo.example.com", version="v1"):
    """A shop, of which there may be as many as the ConfigMap `quota` says."""

    @validates(on=("create",), reads=(kinds.CONFIG_MAP, Reads(kinds.SECRET, cached=False)))
    async def is_within_quota(
        self, request: AdmissionRequest["Shop"], ctx: AdmissionContext
    ) -> None:
        """The quota is not used up."""
        quota = await ctx.get(kinds.CONFIG_MAP, "quota")
        if quota is not None and quota["data"]["shops"] == "0":
            request.refuse("", f"the quota is used up since {ctx.now:%Y}")
        if await ctx.get(kinds.SECRET, "closed") is not None:
            request.refuse("", "the mall is closed")
        if len(await ctx.list(kinds.CONFIG_MAP, labels={"full": "yes"})) > 0:
            request.refuse("", "the mall is full")

    @validates()
    async def is_quick(self, request: AdmissionRequest["Shop"]) -> None:
        """It takes as long as the spec says."""
        if self.spec.image.endswith(":latest"):
            request.refuse("spec.image", "must name a version")
        await asyncio.sleep(self.spec.seconds)  # noqa: TID251 - the code of a user

    @defaults
    def replicas_are_set(self) -> None:
        """Three, unless the user says otherwise."""
        if self.spec.replicas is None:
            self.spec.replicas = 3


class Shops(Controller[Shop]):
    """Writes a ConfigMap for each shop."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="Made")
    def made(self, shop: Shop, out: OutputSet) -> Result:
        """The ConfigMap is there."""
        data = {"replicas": str(shop.spec.replicas)}
        meta = {"name": shop.name}
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
        return Done()

    @state(finalizer=True, condition="Gone")
    def gone(self, shop: Shop, out: OutputSet) -> Result:
        """Nothing is left."""
        return Done()


class ConfigMapRules(Admission[Unstructured], kind=kinds.CONFIG_MAP):
    """Rules that the writes of our own controller meet."""

    @defaults(object_selector="!unlabelled")
    def label(self, obj: Unstructured) -> dict[str, Any]:
        """Label it."""
        return {"metadata": {"labels": {"by": "webhook"}}}

    @validates(on=("create", "delete"))
    def has_luck(self, obj: Unstructured, request: AdmissionRequest[Any]) -> None:
        """Not thirteen."""
        if (obj.get("data") or {}).get("replicas") == "13":
            request.refuse("data.replicas", "brings bad luck")


def shop(name: str = "corner", **spec: Any) -> Shop:
    """Return a shop."""
    return Shop(name=name, spec=ShopSpec(**spec))


def test_validation_and_defaults_are_called_in_the_process() -> None:
    """Create, update and delete, as on a cluster."""
    with Harness(Shops(), ConfigMapRules()) as cluster:
        cluster.apply(shop())
        cluster.settle()

        assert cluster.require(Shop, "corner").spec.replicas == 3
        assert cluster.require(kinds.CONFIG_MAP, "corner")["metadata"]["labels"] == {
            "by": "webhook"
        }
        with pytest.raises(InvalidError, match=r'spec\.image: Invalid value: "shop:latest"'):
            cluster.patch(Shop, "corner", {"spec": {"image": "shop:latest"}})
        cluster.at_rest()


@pytest.mark.law("H4")
def test_our_own_writes_meet_our_own_webhooks() -> None:
    """A pass is refused like any other writer, and goes on when the webhook allows it."""
    with Harness(Shops(), ConfigMapRules()) as cluster:
        cluster.apply(shop(replicas=13))
        cluster.advance(timedelta(seconds=10))

        made = cluster.condition(Shop, "corner", "Made")
        assert made is not None
        assert "data.replicas: Invalid value" in made.message
        cluster.patch(Shop, "corner", {"spec": {"replicas": 12}})
        cluster.settle()
        assert cluster.ready(Shop, "corner")


def test_a_validator_reads_from_the_caches() -> None:
    """Also objects that were written a moment ago, and kinds that are not cached."""
    with Harness(Shops()) as cluster:
        cluster.apply(config_map("quota", shops="0"))
        cluster.step()
        with pytest.raises(ForbiddenError, match="the quota is used up since 2026"):
            cluster.apply(shop())
        cluster.delete(kinds.CONFIG_MAP, "quota")
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "closed"}})
        cluster.step()
        with pytest.raises(ForbiddenError, match="the mall is closed"):
            cluster.apply(shop())
        cluster.delete(kinds.SECRET, "closed")
        cluster.apply(
            {**config_map("hall"), "metadata": {"name": "hall", "labels": {"full": "yes"}}}
        )
        cluster.step()
        with pytest.raises(ForbiddenError, match="the mall is full"):
            cluster.apply(shop())


def config_map(name: str, **data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (lambda ctx: ctx.get(kinds.POD, "p"), "reads Pod (v1), which it does not declare"),
        (lambda ctx: ctx.get("pods", "p"), "reads pods, which it does not declare"),
        (lambda ctx: ctx.list(kinds.SECRET), "declared with cached=False"),
        (lambda ctx: ctx.list(kinds.NODE, index=("a", "b")), "by an index"),
    ],
)
def test_a_read_that_is_not_declared_is_a_refusal_with_its_fix(reading: Any, said: str) -> None:
    """D3: it names the validator."""

    class Rules(Admission[Unstructured], kind=kinds.CONFIG_MAP):
        @validates(reads=(kinds.NODE, Reads(kinds.SECRET, cached=False)))
        async def reads_much(self, _obj: Any, _request: Any, ctx: Any) -> None:
            await reading(ctx)

    with Harness(Shops(), Rules()) as cluster:
        cluster.step()
        with pytest.raises(ForbiddenError) as error:
            cluster.apply(config_map("a"))

    assert said in str(error.value)
    assert "fix: " in str(error.value)


@pytest.mark.law("H1")
def test_a_validator_that_is_too_slow_is_answered_by_the_failure_policy() -> None:
    """Before the server gives up, with the name of the webhook, and in virtual time."""
    with Harness(Shops()) as cluster:
        with pytest.raises(
            ApiError, match=r"validate\.shops\.demo\.example\.com did not answer within 4\.5 s"
        ):
            cluster.apply(shop(seconds=60))
        assert cluster.manager.metrics.registry.get_sample_value(
            "controller_runtime_webhook_requests_total",
            {"webhook": "/validate/demo.example.com/v1/shops", "code": "200"},
        )


@pytest.mark.law("H1")
def test_a_webhook_that_is_down_refuses_by_its_failure_policy() -> None:
    """Fail: the write is refused until the process is back."""
    with Harness(Shops()) as cluster:
        cluster.crash()
        with pytest.raises(ApiError, match="connection refused"):
            cluster.apply(shop())
        cluster.restart()
        cluster.step()
        cluster.apply(shop())
        cluster.settle()
        assert cluster.ready(Shop, "corner")


@pytest.mark.law("H1")
def test_an_old_replica_does_not_know_a_new_webhook() -> None:
    """A 404, and the failure policy of the new configuration decides."""

    class NewRules(ConfigMapRules):
        @validates(failure_policy="Ignore", object_selector="lenient")
        def is_lenient(self, obj: Unstructured) -> None:
            raise ValueError("a new rule")

        @validates(object_selector="strict")
        def is_strict(self, obj: Unstructured) -> None:
            raise ValueError("a new rule")

    with Harness(Shops(), ConfigMapRules()) as cluster:
        for configuration in in_process_configurations([NewRules()]):
            configuration["metadata"]["name"] = "new"
            assert not cluster.server.create(configuration)
        lenient = {**config_map("a"), "metadata": {"name": "a", "labels": {"lenient": ""}}}
        strict = {**config_map("b"), "metadata": {"name": "b", "labels": {"strict": ""}}}
        cluster.apply(lenient)
        with pytest.raises(ApiError, match=r"no webhook is served at .*/configmaps/is-strict"):
            cluster.apply(strict)


@pytest.mark.law("H4")
def test_webhooks_answer_before_the_manager_leads_and_its_caches_are_in_sync() -> None:
    """Otherwise a write that our start depends on would wait for our start."""
    holder = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "shops", "namespace": "default"},
        "spec": {
            "holderIdentity": "another",
            "leaseDurationSeconds": 3600,
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "acquireTime": "2026-01-01T00:00:00.000000Z",
        },
    }
    options = ManagerOptions(
        seed=0,
        leader_election=True,
        leader_election_id="shops",
        leader_election_namespace="default",
    )
    with Harness(Shops(), options=options, manifests=[holder]) as cluster:
        cluster.step()
        assert cluster.apply(shop())["spec"]["replicas"] == 3
        assert not cluster.manager.is_idle


@pytest.mark.law("H2")
def test_an_object_can_be_deleted_whatever_its_validators_say() -> None:
    """W7: the finalizer comes off although the spec has become invalid meanwhile."""
    with Harness(Shops()) as cluster:
        cluster.apply(shop())
        cluster.settle()
        stored = cluster.server.request(
            "PATCH",
            "/apis/demo.example.com/v1/namespaces/default/shops/corner",
            {"spec": {"image": "shop:latest"}},
            content_type="application/merge-patch+json",
        )
        assert stored.status == 200, "written past the webhook, as an actor of the server does"
        cluster.delete(Shop, "corner")
        cluster.settle()

        assert cluster.get(Shop, "corner") is None


class NamedRules(
    Admission[Unstructured],
    kind=kinds.CONFIG_MAP,
    rules=[Rule("object.metadata.name != 'bad'", message="is not a name")],
):
    """A rule in CEL, which the server evaluates without a webhook."""


def test_rules_in_cel_are_policies_of_the_server() -> None:
    """They refuse without a manager, and with the texts of kube-apiserver."""
    with Harness(Shops(), NamedRules()) as cluster:
        cluster.apply(_config_map("good"))
        with pytest.raises(InvalidError, match="denied request: is not a name"):
            cluster.apply(_config_map("bad"))


def _config_map(name: str) -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

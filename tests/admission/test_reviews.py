"""A review is answered: allowed, refused with fields, or completed with a patch; it never raises."""

from base64 import b64decode
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_asyncio.client import V1Pod
from pydantic import BaseModel, model_validator

from myrmidon.api import Json, Model, Resource, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.patch.json_patch import apply_json_patch
from myrmidon.webhooks.admission import (
    Admission,
    AdmissionContext,
    AdmissionRequest,
    defaults,
    validates,
)
from myrmidon.webhooks.admission.declarations import WebhookTerms
from myrmidon.webhooks.admission.reviews import Decision, budget_seconds, decide, timed_out
from myrmidon.webhooks.admission.webhooks import Webhook, webhooks_of
from tests.admission.apps import App, AppSpec, ConfigMapRules, app, review

COMPLETES, JUDGES = webhooks_of(App)
LABELS, DATA = webhooks_of(ConfigMapRules())


def context(_request: AdmissionRequest[Any]) -> AdmissionContext:
    """Return no context: the methods of these tests read nothing."""
    return cast("AdmissionContext", "context")


def decided(webhook: Webhook, asked: Json) -> Decision:
    """Return the decision about a review.  Nothing waits here, so no event loop is needed."""
    deciding = decide(webhook, asked, context)
    with pytest.raises(StopIteration) as ended:
        deciding.send(None)
    found: Decision = ended.value.value
    return found


def message(webhook: Webhook, asked: Json) -> str:
    """Return why a review is refused; empty if it is allowed."""
    status = decided(webhook, asked).status
    return "" if status is None else str(status["message"])


def one(*methods: Any, kind: Any = kinds.CONFIG_MAP) -> Webhook:
    """Return the webhook of an Admission with these methods."""
    made: Any = type(
        "Rules", (Admission,), {method.__name__: method for method in methods}, kind=kind
    )
    (webhook,) = webhooks_of(made())
    return webhook


def test_a_write_that_no_validator_refuses_is_allowed() -> None:
    """The response carries the uid of the request, and nothing else."""
    response = decided(JUDGES, review("CREATE", app())).response()

    assert response == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "a-b-c", "allowed": True},
    }


def test_a_refusal_names_the_field_and_its_value_as_the_server_does() -> None:
    """The status is Invalid, with a cause for kubectl."""
    response = decided(JUDGES, review("CREATE", app({"image": "shop:latest"}))).response()

    status = response["response"]["status"]
    assert not response["response"]["allowed"]
    assert status["message"] == (
        'App.demo.example.com "shop" is invalid: '
        'spec.image: Invalid value: "shop:latest": must name a version'
    )
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["details"] == {
        "name": "shop",
        "group": "demo.example.com",
        "kind": "App",
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": 'Invalid value: "shop:latest": must name a version',
                "field": "spec.image",
            }
        ],
    }


def test_all_problems_are_reported_at_once() -> None:
    """Every validator of the operation runs, and the old object is there."""
    old = app({"image": "shop:1", "hosts": ["a", "b"]})
    new = app({"image": "shop:latest", "hosts": ["a"]})

    assert message(JUDGES, review("UPDATE", new, old)) == (
        'App.demo.example.com "shop" is invalid: '
        '[spec.image: Invalid value: "shop:latest": must name a version, '
        "spec.hosts[1]: Required value: b must stay]"
    )


def test_a_delete_is_judged_by_the_object_that_goes() -> None:
    """A ValueError refuses it, as in pydantic."""
    old = app({"image": "shop:1", "hosts": ["a"]})

    assert message(JUDGES, review("DELETE", None, old)) == (
        'apps.demo.example.com "shop" is forbidden: it still has hosts'
    )
    assert not message(JUDGES, review("DELETE", None, app()))


def test_an_object_that_does_not_fit_its_model_is_refused_with_its_paths() -> None:
    """What pydantic reports is told like a problem of the server."""
    new = app({"image": "", "replicas": "x"})

    assert message(JUDGES, review("CREATE", new)) == (
        'App.demo.example.com "shop" is invalid: '
        '[spec.image: Invalid value: "": String should have at least 1 character, '
        'spec.replicas: Invalid value: "x": Input should be a valid integer]'
    )


def test_a_validator_of_the_model_that_the_crd_cannot_express_is_enforced() -> None:
    """That is what the webhook of an own kind is for, besides its methods."""

    class Spec(Model):
        low: int
        high: int

        @model_validator(mode="after")
        def in_order(self) -> "Spec":
            if self.low > self.high:
                raise ValueError("low must not pass high")
            return self

    class Range(Resource[Spec, Status], group="demo.example.com", version="v1"):
        @validates()
        def anything(self) -> None:
            """Accept it."""

    (webhook,) = webhooks_of(Range)
    obj = {"metadata": {"name": "r"}, "spec": {"low": 2, "high": 1}}
    assert message(webhook, review("CREATE", obj, name="r")) == (
        'Range.demo.example.com "r" is invalid: '
        'spec: Invalid value: {"low":2,"high":1}: Value error, low must not pass high'
    )


@pytest.mark.law("H2")
def test_an_unfit_object_can_be_deleted_and_its_metadata_changed() -> None:
    """W7: otherwise no finalizer could be written or removed."""
    unfit = app({"image": ""})
    labelled = app({"image": ""}, labels={"a": "b"})

    assert not message(JUDGES, review("UPDATE", labelled, unfit))
    assert not message(JUDGES, review("DELETE", None, unfit))
    assert message(JUDGES, review("UPDATE", app({"image": "", "replicas": 1}), unfit))


@pytest.mark.law("H2")
def test_an_update_of_an_object_that_is_being_deleted_is_not_judged() -> None:
    """W7: a validator cannot keep a finalizer on an object."""
    old = app({"image": "x:latest"}, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a/b"])
    new = app({"image": "x:latest"}, deletionTimestamp="2026-01-01T00:00:00Z")

    assert not message(JUDGES, review("UPDATE", new, old))
    assert not decided(COMPLETES, review("UPDATE", new, old)).patch


def test_defaults_become_a_json_patch() -> None:
    """Only what the method changed is in it."""
    decision = decided(COMPLETES, review("CREATE", app()))
    response = decision.response()["response"]

    assert response["patchType"] == "JSONPatch"
    assert orjson.loads(b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/replicas", "value": 3}
    ]


def test_defaults_that_change_nothing_send_no_patch() -> None:
    """Called with its own result, a default does nothing."""
    before = app()
    after = apply_json_patch(before, decided(COMPLETES, review("CREATE", before)).patch)

    assert "patch" not in decided(COMPLETES, review("CREATE", after)).response()["response"]


def test_a_default_may_return_a_merge_patch() -> None:
    """Labels are added beside those that are there; a null removes a field."""
    obj = {"metadata": {"name": "c", "labels": {"a": "b"}}, "data": {"k": "v"}}

    patch = decided(LABELS, review("CREATE", obj)).patch

    assert patch == [{"op": "add", "path": "/metadata/labels/owner", "value": "nobody"}]


def test_an_object_that_does_not_fit_gets_no_defaults() -> None:
    """It is refused when it is validated, with the problems."""
    assert not decided(COMPLETES, review("CREATE", app({}))).patch


def test_a_default_may_change_a_model_of_kubernetes_asyncio() -> None:
    """Fields that the model does not set stay as they are."""

    class PodRules(Admission[V1Pod]):
        @defaults(on=("create",))
        def quick(self, pod: V1Pod, request: AdmissionRequest[V1Pod]) -> None:
            assert request.operation == "create"
            pod.spec.termination_grace_period_seconds = 5

    (webhook,) = webhooks_of(PodRules())
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "unknown": 1}}

    assert decided(webhook, review("CREATE", pod)).patch == [
        {"op": "add", "path": "/spec/terminationGracePeriodSeconds", "value": 5}
    ]


def test_a_refusal_in_a_default_refuses_the_write() -> None:
    """Its patch is not sent."""

    @defaults
    def fails(self: Any, obj: Unstructured, request: AdmissionRequest[Any]) -> Json:
        request.refuse("data.key", "cannot be completed")
        return {"data": {"other": "value"}}

    decision = decided(one(fails), review("CREATE", {"data": {"key": "x"}}))

    assert not decision.is_allowed
    assert "patch" not in decision.response()["response"]


@pytest.mark.law("H1")
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "no"),
        (AssertionError(), "Rules.check refuses it"),
        (KeyError("data"), "Rules.check failed: KeyError: 'data' (test_reviews.py:"),
        (SystemExit(3), "Rules.check failed: SystemExit: a state cannot end the process"),
    ],
)
def test_an_exception_is_a_refusal_that_names_the_validator(
    error: BaseException, said: str
) -> None:
    """An unexpected one is also passed on, for the log."""

    @validates()
    def check(self: Any, obj: Unstructured) -> None:
        raise error

    decision = decided(one(check), review("CREATE", {"metadata": {}}))

    assert decision.status is not None
    assert said in decision.status["message"]
    assert decision.errors == ([] if isinstance(error, ValueError | AssertionError) else [error])


def test_a_pydantic_error_in_a_method_becomes_field_paths() -> None:
    """Its paths begin at the model, which mostly is the spec."""

    class Limits(BaseModel):
        ports: list[int]

    @validates()
    def check(self: Any, obj: Unstructured) -> None:
        Limits.model_validate({"ports": ["x"]})

    @validates()
    def whole(self: Any, obj: Unstructured) -> None:
        Limits.model_validate(3)

    @validates()
    def named(self: Any, obj: Unstructured) -> None:
        AppSpec.from_wire({"image": 1})

    obj = {"metadata": {}, "image": 3, "spec": {"ports": ["x"]}}
    status = decided(one(check, whole, named), review("CREATE", obj)).status
    assert status is not None
    assert [cause.get("field", "") for cause in status["details"]["causes"]] == [
        "spec.ports[0]",
        "",
        "image",
    ]


def test_the_context_is_passed_to_a_method_that_asks_for_it() -> None:
    """As the last parameter; without one it is not even made."""
    seen: list[Any] = []

    @validates()
    async def check(self: Any, obj: Unstructured, request: Any, ctx: Any) -> None:
        seen.append((obj["data"], request.user.name, request.user.groups, request.dry_run, ctx))
        request.warn("mind the gap")

    asked = review("CREATE", {"data": {"a": "b"}}, groups=("dev",), dry_run=True)
    response = decided(one(check), asked).response()

    assert seen == [({"a": "b"}, "jane", ("dev",), True, "context")]
    assert response["response"]["warnings"] == ["mind the gap"]


def test_a_method_is_not_run_for_other_operations() -> None:
    """Also if the webhook is called for them, because of another method."""
    assert not message(DATA, review("UPDATE", {"metadata": {}}, {"metadata": {}}))
    assert message(DATA, review("CREATE", {"metadata": {}})) == (
        'configmaps "shop" is forbidden: data is empty'
    )


def test_values_of_secrets_are_not_repeated() -> None:
    """Neither in the message nor in the causes."""

    @validates()
    def check(self: Any, obj: Unstructured, request: AdmissionRequest[Any]) -> None:
        request.refuse("data.password", "is too short")
        request.refuse("", "and it was not encrypted")

    webhook = one(check, kind=kinds.SECRET)
    obj = {"metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}}
    asked = review("CREATE", obj, name="")

    assert message(webhook, asked) == (
        'Secret "s" is invalid: '
        "[data.password: Invalid value: is too short, and it was not encrypted]"
    )


def test_a_long_value_is_cut() -> None:
    """A refusal is read by a person."""

    @validates()
    def check(self: Any, obj: Unstructured, request: AdmissionRequest[Any]) -> None:
        request.refuse("data", "is too long")

    said = message(one(check), review("CREATE", {"data": {"a": "x" * 1000}}))

    assert "xxx...: is too long" in said
    assert len(said) < 250


@pytest.mark.law("H1")
def test_a_request_without_an_object_is_refused_not_raised() -> None:
    """An API server sends none for a connect, and a bad client sends anything."""

    @validates()
    def check(self: Any, obj: Unstructured, request: AdmissionRequest[Any]) -> None:
        request.refuse("spec", "is missing")

    assert message(one(check), review("CREATE")) == (
        'ConfigMap "shop" is invalid: spec: Required value: is missing'
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "Pod"}, "not an AdmissionReview"),
        ({"request": None}, "not an AdmissionReview"),
        ({"apiVersion": "admission.k8s.io/v1beta1"}, "v1beta1"),
        ({"request": {"operation": "CONNECT"}}, "CONNECT"),
    ],
)
def test_what_is_not_a_review_raises_a_value_error(change: Json, said: str) -> None:
    """The server answers 400 to it."""
    with pytest.raises(ValueError, match=said):
        decide(JUDGES, {**review("CREATE", app()), **change}, context).send(None)


def test_a_list_is_not_a_review() -> None:
    """Whatever JSON is sent."""
    with pytest.raises(ValueError, match="not an AdmissionReview"):
        decide(JUDGES, cast("Json", []), context).send(None)


@pytest.mark.law("H1")
def test_a_slow_webhook_is_answered_by_its_failure_policy() -> None:
    """Fail refuses, Ignore allows with a warning; both say which webhook was slow."""
    asked = review("CREATE", app())
    refused = timed_out(JUDGES, asked, 4.5)
    lenient = Webhook(
        "validate", App, App.KIND, WebhookTerms(failure_policy="Ignore"), JUDGES.methods
    )
    ignored = timed_out(lenient, asked, 4.5)

    assert refused.status is not None
    assert refused.status["message"] == (
        "validate.apps.demo.example.com did not answer within 4.5 s"
    )
    assert refused.status["reason"] == "Timeout"
    assert ignored.is_allowed
    assert ignored.warnings == [
        "validate.apps.demo.example.com did not answer within 4.5 s; the write was not checked"
    ]


@given(st.integers(1, 30))
def test_the_budget_leaves_time_for_the_way_back(seconds: int) -> None:
    """It is always shorter than the timeout, and never nothing."""
    assert 0.4 < budget_seconds(seconds) <= seconds - 0.5


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.dictionaries(st.sampled_from(["name", "labels"]), st.text(max_size=3)),
        "spec": st.dictionaries(st.sampled_from(["image", "replicas", "hosts", "x"]), _ANY),
        "status": st.dictionaries(st.text(max_size=2), _ANY),
    },
)


@pytest.mark.law("H1")
@given(st.sampled_from(["CREATE", "UPDATE", "DELETE"]), st.none() | _OBJECTS, st.none() | _OBJECTS)
def test_a_review_of_any_object_is_answered(
    operation: str, obj: Json | None, old: Json | None
) -> None:
    """Never a 500: objects come from users, before the server has validated them."""
    asked = review(operation, obj, old)
    for webhook in (JUDGES, COMPLETES, LABELS):
        decision = decided(webhook, asked)
        response = decision.response()["response"]
        assert response["uid"] == "a-b-c"
        assert response["allowed"] is (decision.status is None)
        if decision.patch:
            apply_json_patch(obj or {}, decision.patch)

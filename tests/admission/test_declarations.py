"""``@validates``, ``@defaults`` and ``Admission`` are checked when they are written."""

from collections.abc import Callable
from datetime import timedelta
from types import new_class
from typing import Any, Generic, TypeVar

import pytest
from kubernetes_asyncio.client import V1Pod

from myrmidon.api import Model, Resource, Rule, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.errors import DefinitionError
from myrmidon.fsm import Controller, Done, Manages, Reads, Result, state
from myrmidon.sets import OutputSet
from myrmidon.webhooks.admission import Admission, AdmissionRequest, defaults, validates
from myrmidon.webhooks.admission.declarations import WebhookTerms, declaration_of
from myrmidon.webhooks.admission.webhooks import declared_subjects, webhooks_of
from tests.admission.apps import App, ConfigMapRules

T = TypeVar("T")


def test_a_declared_method_stays_a_plain_method() -> None:
    """A test can call it with a request of its own."""
    request: AdmissionRequest[App] = AdmissionRequest("create")

    App(name="shop", spec={"image": "shop:latest"}).image_is_pinned(request)

    assert [problem.field for problem in request.problems] == ["spec.image"]
    assert request.old is None


def test_a_validator_without_terms_needs_no_parentheses() -> None:
    """As a default needs none; it is asked about creates and updates."""

    def judged(self: Any) -> None:
        """Allow everything."""

    assert declaration_of(validates(judged)) == declaration_of(validates()(judged))


def test_an_old_object_without_a_reader_is_json() -> None:
    """In a test that builds a request by hand."""
    request: AdmissionRequest[Any] = AdmissionRequest("update", raw={"oldObject": {"a": 1}})

    assert request.old == {"a": 1}


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda: validates(on=()), "not a choice of operations"),
        (lambda: validates(on=("read",)), "'create', 'update', 'delete'"),  # type: ignore[arg-type]
        (lambda: defaults(on=("delete",)), "no object to complete"),
        (lambda: validates(timeout=timedelta(minutes=1)), "1 to 30 whole seconds"),
        (lambda: validates(timeout=timedelta(seconds=1.5)), "use 1 to 30 whole"),
        (lambda: validates(failure_policy="fail"), '"Ignore" to allow them'),  # type: ignore[call-overload]
        (lambda: validates(match_conditions={"a b": "true"}), "the match condition 'a b'"),
        (lambda: validates(match_conditions={"a": " "}), "the match condition 'a'"),
        (lambda: validates(object_selector="a in b"), "@validates: "),
        (lambda: validates(reads=("pods",)), "'pods', which is not a kind"),  # type: ignore[arg-type]
        (lambda: validates()(3), "3, which is not a method"),  # type: ignore[type-var]
        (lambda: defaults(App), "which is not a method"),
        (lambda: validates()(generator), "generator is a generator"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_fix(
    declare: Callable[[], object], said: str
) -> None:
    """D2: at import."""
    with pytest.raises(DefinitionError) as error:
        declare()

    assert said in str(error.value)
    assert "fix: " in str(error.value) or "selector" in str(error.value)


class Mixin(Generic[T]):
    """A generic base that is not an Admission."""


def generator(self: Any) -> Any:
    """Yield problems, which the framework would not see."""
    yield "problem"


def test_one_operation_or_kind_needs_no_tuple() -> None:
    """A text counts as one operation, a kind as one read."""

    @validates(on="delete", reads=kinds.POD)  # type: ignore[arg-type]
    def check(self: Any) -> None: ...

    @validates(reads=Reads(kinds.POD))  # type: ignore[call-overload,untyped-decorator]
    def other(self: Any) -> None: ...

    declared = declaration_of(check)
    assert declared is not None
    assert declared.on == ("delete",)
    assert declared.reads == (Reads(kinds.POD),)
    assert declaration_of(other).reads == (Reads(kinds.POD),)  # type: ignore[union-attr]


def test_an_admission_needs_a_kind() -> None:
    """D2: a class without one is refused at import."""
    for bases in (
        (Admission,),
        (Admission[Unstructured],),
        (Admission[int],),
        (Admission, Mixin[int]),
    ):
        with pytest.raises(DefinitionError, match="does not say of which kind"):
            new_class("Rules", bases)


def test_an_admission_names_its_kind_by_a_class_or_a_kind() -> None:
    """A subclass has that of its base; CEL rules add up."""

    class PodRules(Admission[V1Pod], rules=[Rule("has(object.spec)")]):
        @validates()
        def check(self, pod: V1Pod) -> None: ...

    class More(PodRules, rules=[Rule("has(object.metadata)")]):
        check = None  # type: ignore[assignment]

    assert PodRules.kind() == More.kind() == kinds.POD
    assert ConfigMapRules.kind() == kinds.CONFIG_MAP
    assert [rule.rule for rule in More.policy_rules] == ["has(object.spec)", "has(object.metadata)"]
    assert [webhook.name for webhook in webhooks_of(PodRules)] == ["validate.pods.core"]
    assert webhooks_of(More) == ()


def test_a_method_with_other_parameters_is_refused() -> None:
    """D2: on an Admission at import, on a Resource when its webhooks are looked for."""
    with pytest.raises(DefinitionError, match=r"Rules.check takes 1 parameters.\n.*\(self, obj\)"):

        class Rules(Admission[V1Pod]):
            @validates()
            def check(self) -> None: ...

    class Thing(Resource[Model, Status], group="demo.example.com", version="v1"):
        @validates()
        def check(self, a: int, b: int, c: int) -> None: ...

    with pytest.raises(DefinitionError, match=r"Thing.check takes 4 parameters.\n.*\(self\)"):
        webhooks_of(Thing)


def test_methods_with_the_same_terms_share_a_webhook() -> None:
    """One request for all of them; others have the name of their first method.

    Adding ``on_some`` leaves the path of the others, which an old replica answers, as it was.
    """

    class Rules(Admission[V1Pod]):
        @validates(on=("create",), reads=(kinds.NODE,))
        def first(self, pod: V1Pod) -> None: ...

        @validates(on=("delete",), reads=(kinds.NODE, kinds.SECRET))
        def second(self, pod: V1Pod) -> None: ...

        @validates(object_selector="a=b", timeout=timedelta(seconds=2))
        def on_some(self, pod: V1Pod) -> None: ...

    shared, other = webhooks_of(Rules())

    assert shared.name == "validate.pods.core"
    assert shared.path == "/validate/core/v1/pods"
    assert shared.operations == ("create", "delete")
    assert [read.kind for read in shared.reads] == [kinds.NODE, kinds.SECRET]
    assert not shared.is_own
    assert other.name == "on-some.validate.pods.core"
    assert other.path == "/validate/core/v1/pods/on-some"
    assert other.terms == WebhookTerms(object_selector="a=b", timeout_seconds=2)


def test_a_method_of_a_resource_may_read_its_own_kind() -> None:
    """The class does not exist yet where the decorator is written."""

    class Peer(Resource[Model, Status], group="demo.example.com", version="v1"):
        @validates(reads=(kinds.NODE,))
        def check(self, request: Any, ctx: Any) -> None: ...

    assert [read.kind for read in webhooks_of(Peer)[0].reads] == [kinds.NODE, Peer]


def test_the_classes_of_a_controller_are_found() -> None:
    """Its own resource, and those that it manages or reads."""

    class Other(Resource[Model, Status], group="demo.example.com", version="v1"):
        @defaults
        def fill(self) -> None: ...

    class Plain(Resource[Model, Status], group="demo.example.com", version="v1"):
        """Without rules."""

    class Plains(Controller[Plain]):
        manages = (kinds.CONFIG_MAP, Manages(App))
        reads = (Reads(Other), kinds.POD)

        @state(initial=True, condition="Made")
        def made(self, obj: Plain, out: OutputSet) -> Result:
            return Done()

    assert declared_subjects([Plains, Plains]) == [App, Other]
    assert webhooks_of(App)[1].reads == ()
    assert [webhook.is_own for webhook in webhooks_of(App)] == [True, True]

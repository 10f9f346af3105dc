"""Declarations: what a class says (D1), and what is refused when it is defined (D2)."""

from typing import Any

import pytest
from hypothesis import given

from myrmidon.api import Kind, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.typed.object_types import kind_of
from myrmidon.errors import DefinitionError
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, Watch, state
from myrmidon.fsm.children.readiness import exists
from myrmidon.fsm.controller import state_methods
from myrmidon.sets import OutputSet
from tests.fsm.graphs import Drawn, drawings
from tests.fsm.things import Thing, Things, ThingSpec, define, marked


def no_result(self: Any, obj: Any) -> Result:
    """Take too few parameters."""
    return Done()


def too_much(self: Any, obj: Any, out: OutputSet, ctx: Any, more: Any) -> Result:
    """Take too many parameters."""
    return Done()


def keyword(self: Any, obj: Any, out: OutputSet, *, ctx: Any) -> Result:
    """Require a keyword argument, which the framework never passes."""
    return Done()


def generator(self: Any, obj: Any, out: OutputSet) -> Any:
    """Yield."""
    yield Done()


async def async_generator(self: Any, obj: Any, out: OutputSet) -> Any:
    """Yield, and wait."""
    yield Done()


FIX = (
    "  fix: write `def {0}(self, obj, out) -> Result` or `def {0}(self, obj, out, ctx) -> Result`, "
    "with `async` if it awaits"
)
CONSTANT = (
    "  fix: use a constant of myrmidon.kinds, a Resource class, "
    "a kubernetes-asyncio model of a built-in kind, "
    "or Kind(group, version, kind, plural, namespaced)"
)

BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "no states",
        {},
        (
            "Bad has no initial state.\n"
            "  fix: mark the state every pass starts at with @state(initial=True, ...)"
        ),
    ),
    (
        "two initial states",
        {"a": marked(initial=True), "b": marked(initial=True)},
        (
            "Bad has 2 initial states: 'a', 'b'.\n"
            "  fix: keep initial=True on one of them and reach 'b' by `then`"
        ),
    ),
    (
        "two finalizer starts",
        {"a": marked(initial=True), "b": marked(finalizer=True), "c": marked(finalizer=True)},
        (
            "Bad has 2 finalizer starts: 'b', 'c'.\n"
            "  fix: keep finalizer=True on one of them and reach 'c' by `then`"
        ),
    ),
    (
        "an edge to nothing",
        {"a": marked(initial=True, then=("b", "x")), "b": marked()},
        (
            "Bad.a may go to 'x', but Bad has no state of that name.\n"
            "  fix: use one of 'a', 'b' in `then`, or add the state 'x'"
        ),
    ),
    (
        "a cycle",
        {"a": marked(initial=True, then="b"), "b": marked(then="c"), "c": marked(then="b")},
        (
            "Bad has a cycle: b -> c -> b.\n"
            "  A pass walks from the initial state to an end; it would never reach one.\n"
            "  fix: remove the edge c -> b; to look again later, return Wait(...)"
        ),
    ),
    (
        "a loop",
        {"a": marked(initial=True, then="a")},
        (
            "Bad has a cycle: a -> a.\n"
            "  A pass walks from the initial state to an end; it would never reach one.\n"
            "  fix: remove the edge a -> a; to look again later, return Wait(...)"
        ),
    ),
    (
        "an unreachable state",
        {"a": marked(initial=True), "b": marked()},
        (
            "Bad has a state that no path reaches: 'b'.\n"
            "  fix: name 'b' in the `then` of the state before it, or delete it"
        ),
    ),
    (
        "unreachable states",
        {"a": marked(initial=True), "b": marked(then="c"), "c": marked()},
        (
            "Bad has states that no path reaches: 'b', 'c'.\n"
            "  fix: name 'b' in the `then` of the state before it, or delete it"
        ),
    ),
    (
        "one condition twice",
        {"a": marked(initial=True, condition="Made", then="b"), "b": marked(condition="Made")},
        (
            "Bad.b owns the condition 'Made', which 'a' owns already.\n"
            "  fix: give each state a condition of its own"
        ),
    ),
    (
        "the condition Ready",
        {"ready": marked(initial=True)},
        (
            "Bad.ready owns the condition 'Ready', which sums up all states.\n"
            "  fix: choose another condition; the framework writes Ready"
        ),
    ),
    (
        "no condition type",
        {"a": marked(initial=True, condition="Not so")},
        (
            "Bad.a owns the condition 'Not so', which is not a valid condition type.\n"
            "  fix: use CamelCase letters and digits, such as 'Deployed'"
        ),
    ),
    (
        "too few parameters",
        {"a": marked(no_result, initial=True)},
        "Bad.a takes 1 parameter after self.\n" + FIX.format("a"),
    ),
    (
        "too many parameters",
        {"a": marked(too_much, initial=True)},
        "Bad.a takes 4 parameters after self.\n" + FIX.format("a"),
    ),
    (
        "a keyword",
        {"a": marked(keyword, initial=True)},
        "Bad.a has the keyword-only parameter 'ctx', which the framework does not pass.\n"
        + FIX.format("a"),
    ),
    (
        "a generator",
        {"a": marked(generator, initial=True)},
        "Bad.a is a generator, and a state returns one result.\n" + FIX.format("a"),
    ),
    (
        "an asynchronous generator",
        {"a": marked(async_generator, initial=True)},
        "Bad.a is a generator, and a state returns one result.\n" + FIX.format("a"),
    ),
    (
        "a static method",
        {"a": state(initial=True)(staticmethod(too_much))},
        "Bad.a is not a method.\n" + FIX.format("a"),
    ),
    (
        "a manages entry that is not a kind",
        {"a": marked(initial=True), "manages": (kinds.SECRET, "ConfigMap")},
        "Bad.manages lists 'ConfigMap', which is not a kind.\n" + CONSTANT,
    ),
    (
        "a reads entry that is not a kind",
        {"a": marked(initial=True), "reads": [Resource]},
        "Bad.reads lists <class 'myrmidon.api.typed.resource.Resource'>, which is not a kind.\n"
        + CONSTANT,
    ),
    (
        "a manages that is not a list",
        {"a": marked(initial=True), "manages": 7},
        "Bad.manages lists 7, which is not a kind.\n" + CONSTANT,
    ),
    (
        "a watch of no kind",
        {"a": marked(initial=True), "watches": (Watch("Secret", to=list),)},  # type: ignore[arg-type]
        "Bad.watches lists 'Secret', which is not a kind.\n" + CONSTANT,
    ),
]


@pytest.mark.parametrize(("members", "text"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_d2_a_bad_definition_is_refused_with_names_and_a_fix(
    members: dict[str, Any], text: str
) -> None:
    """The error is raised when the class is defined, before any request is sent."""
    with pytest.raises(DefinitionError) as caught:
        define(**members)

    assert str(caught.value) == text


def test_d2_a_controller_of_nothing_is_refused() -> None:
    """A controller without a resource is refused, unless it is declared abstract."""
    with pytest.raises(DefinitionError) as caught:

        class Nothing(Controller):  # type: ignore[type-arg]
            """Without a resource."""

    assert str(caught.value) == (
        "Nothing does not say which resource it controls.\n"
        "  fix: write `class Nothing(Controller[YourResource])`, "
        "`class Nothing(Controller[Unstructured], kind=kinds.NAMESPACE)`, "
        "or pass abstract=True for a base class"
    )


@given(drawing=drawings())
def test_d1_the_graph_is_known_when_the_class_is_defined(drawing: Drawn) -> None:
    """States, edges, conditions and start states are class data, in the order of declaration."""
    members = {
        one.name: marked(
            initial=one.initial, finalizer=one.finalizer, then=one.then, condition=one.condition
        )
        for one in drawing.states
    }
    made = define("Good", **members)

    assert tuple(made.graph.states) == tuple(one.name for one in drawing.states)
    assert made.graph.conditions == tuple(one.condition for one in drawing.states)
    assert made.graph.edges == tuple(
        (one.name, target) for one in drawing.states for target in one.then
    )
    assert made.graph.start(deleting=False).initial
    assert made.graph.initial == drawing.states[0].name
    assert (made.graph.finalizer is None) == (not any(one.finalizer for one in drawing.states))


def test_d1_kinds_written_and_read_are_known() -> None:
    """Each kind is listed once; kinds of watches are read, except those on remote clusters."""

    class Readers(Controller[Thing]):
        """Reads several kinds."""

        manages = (Thing, kinds.SECRET, kinds.SECRET)
        reads = (kinds.POD,)
        watches = (
            Watch(kinds.POD, to=lambda _: ()),
            Watch(kinds.NODE, to=lambda _: ()),
            Watch(kinds.JOB, to=lambda _: (), remote="other"),
        )
        first = marked(initial=True)

    assert Readers.managed_kinds == (Thing.KIND, kinds.SECRET)
    assert Readers.read_kinds == (kinds.POD, kinds.NODE)
    assert define(a=marked(initial=True), manages=kinds.SECRET).managed_kinds == (kinds.SECRET,)
    assert kind_of(Thing) == Thing.KIND
    assert kind_of(int) is None


def test_the_controller_has_names() -> None:
    """It has a name for its kind, for itself and for its finalizer."""
    assert Things.kind() == Thing.KIND
    assert Things.name == "thing"
    assert Things.finalizer() == "example.com/thing"
    assert define(a=marked(initial=True), name="mine").finalizer() == "example.com/mine"
    for kind, name in (("HTTPRoute", "http-route"), ("WebApp", "web-app"), ("V2Job", "v2-job")):

        class Named(Resource[ThingSpec, Status], group="x.io", version="v1", kind=kind):
            """A resource of that name."""

        class Controls(Controller[Named]):
            """Its controller."""

            first = marked(initial=True)

        assert Controls.name == name


def test_states_are_inherited_mixed_in_overridden_and_taken_out() -> None:
    """A subclass without a new ``@state`` keeps the declaration; None takes the state out."""

    class Backup:
        """A mixin with a state of its own."""

        @state(condition="BackedUp")
        def backed_up(self, obj: Any, out: OutputSet, ctx: Any) -> Result:
            """There is a backup."""
            return Done()

    class Base(Controller[Thing], abstract=True):
        """An abstract base class."""

        @state(initial=True, then="backed_up")
        def made(self, obj: Any, out: OutputSet) -> Result:
            """It is made."""
            return Done()

    class Full(Backup, Base):
        """Has both, and its own method for one of them."""

        async def made(self, obj: Any, out: OutputSet) -> Result:  # type: ignore[override]
            """It is made, slowly."""
            return Done()

    class Short(Full):
        """Needs no backup."""

        @state(initial=True)
        def made(self, obj: Any, out: OutputSet) -> Result:  # type: ignore[override]
            """It is made."""
            return Done()

        backed_up = None  # type: ignore[assignment]

    assert not hasattr(Base, "graph")
    assert list(Full.graph.states) == ["made", "backed_up"]
    assert Full.graph.states["made"].is_async
    assert Full.graph.states["made"].then == ("backed_up",)
    assert Full.graph.states["made"].summary == "It is made, slowly."
    assert Full.graph.states["backed_up"].takes_context
    assert list(Short.graph.states) == ["made"]
    methods = state_methods(Full())
    assert list(methods) == ["made", "backed_up"]
    assert methods["backed_up"].__self__.__class__ is Full


def test_a_generic_base_gets_its_resource_from_the_subclass() -> None:
    """``class Base(Controller[R])`` names a type variable, ``Base[Thing]`` the resource."""
    from myrmidon.fsm.controller import R  # noqa: PLC0415 - the type variable of the class itself

    class Base(Controller[R], abstract=True):
        """For many resources."""

        first = marked(initial=True)

    class Concrete(Base[Thing]):
        """For one of them."""

    class Again(Concrete):
        """For the same."""

    assert Concrete.resource is Thing
    assert Again.resource is Thing


def test_create_if_not_found_needs_a_create_method() -> None:
    """``create_if_not_found`` without ``create`` has nothing to create."""
    with pytest.raises(NotImplementedError, match=r"Things sets create_if_not_found but"):
        Things().create("default", "a")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"workers": 0}, "ControllerOptions.workers is 0.\n  fix: use 1 or more"),
        ({"prune_max": 0}, "ControllerOptions.prune_max is 0.\n  fix: use 1 or more"),
        ({"writes_max": -1}, "ControllerOptions.writes_max is -1.\n  fix: use 1 or more"),
        (
            {"retry_max": ControllerOptions().retry_min / 2},
            (
                "ControllerOptions.retry_min (0:00:01) and retry_max (0:00:00.500000) must be positive, "
                "and retry_min must not be larger.\n  fix: swap them or drop one"
            ),
        ),
    ],
    ids=["workers", "prune_max", "writes_max", "retry"],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], text: str) -> None:
    """The error is raised where the options are written."""
    with pytest.raises(DefinitionError) as caught:
        ControllerOptions(**options)

    assert str(caught.value) == text


def test_a_kind_is_its_own_entry() -> None:
    """A single Kind counts as one entry, although a Kind is a tuple."""
    widget = Kind("example.com", "v1", "Widget", "widgets")

    assert define(a=marked(initial=True), reads=widget).read_kinds == (widget,)


SERVICE_MONITOR = Kind("monitoring.example.com", "v1", "ServiceMonitor", "servicemonitors")


def test_readiness_is_declared_by_kind() -> None:
    """A Kind or a Resource class, and a function of one object."""
    made = define(
        manages=(SERVICE_MONITOR,),
        reads=(kinds.POD,),
        readiness={SERVICE_MONITOR: exists, Thing: lambda obj: True, kinds.POD: max},
        a=marked(initial=True),
    )

    assert set(made.readiness_rules) == {
        ("monitoring.example.com", "ServiceMonitor"),
        ("example.com", "Thing"),
        ("", "Pod"),  # a function that does not tell its signature is taken as it is
    }


@pytest.mark.parametrize(
    ("readiness", "told"),
    [
        ({"Pod": exists}, "Bad.readiness lists 'Pod', which is not a kind"),
        ({kinds.POD: exists}, "Bad.readiness lists Pod, which the controller does not read"),
        ({Thing: True}, "Bad.readiness[Thing] is True, which is not a function of one object"),
        ({Thing: bool}, "which is not a function of one object"),
        ({Thing: lambda: True}, "which is not a function of one object"),
        ({Thing: lambda a, b: True}, "which is not a function of one object"),
        ((Thing, exists), "which is not a mapping"),
    ],
    ids=range(7),
)
def test_d2_readiness_that_cannot_be_asked_is_refused(readiness: Any, told: str) -> None:
    """D2: the error is raised when the class is defined, with the fix."""
    with pytest.raises(DefinitionError) as caught:
        define(readiness=readiness, a=marked(initial=True))

    assert told in str(caught.value)
    assert "\n  fix: " in str(caught.value)

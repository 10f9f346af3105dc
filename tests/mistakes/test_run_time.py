"""Mistakes that show in a pass, as the condition of the object answers them.

The condition names the state, the object or the line, and the fix; `kubectl describe`, `myrmidon
explain` and a failed test all print it.
"""

from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from myrmidon import (
    Context,
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
)
from myrmidon.api.objects.accessors import Json
from myrmidon.errors import DefinitionError
from myrmidon.testing import Harness


class ThingSpec(Model):
    """What is asked for."""

    size: int = 1


class ThingStatus(Status):
    """What was observed."""

    url: str | None = None


class Thing(Resource[ThingSpec, ThingStatus], group="demo.example.com", version="v1"):
    """An object of these tests."""


def config_map(**changes: Any) -> Json:
    """A ConfigMap, or what a newcomer takes for one."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **changes}


class Things(Controller[Thing]):
    """Does in its state what the test says."""

    manages = (kinds.CONFIG_MAP,)

    def __init__(self, act: Any) -> None:
        self.act = act

    @state(initial=True)
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """The mistake is made."""
        done: Result = self.act(thing, out)
        return done


async def some_coroutine() -> Result:
    """What a synchronous state must not return."""
    return Done()


class Mistake(NamedTuple):
    """What a state does, and the reason and message of its condition."""

    act: Any
    reason: str
    problem: str
    fix: str


def applied(obj: Any, **options: Any) -> Any:
    """A state that applies an object."""

    def act(_thing: Thing, out: OutputSet) -> Result:
        out.apply(obj, **options)
        return Done()

    return act


def changed(part: str, name: str, value: Any) -> Any:
    """A state that sets an attribute of a part of its object."""

    def act(thing: Thing, _out: OutputSet) -> Result:
        setattr(getattr(thing, part), name, value)
        return Done()

    return act


RESULTS = "return Done(), Wait(reason, message) or Failed(reason, error)"
MISTAKES = {
    "nothing returned": Mistake(
        lambda *_: None, "NoResult", "Things.made returned None, which is not a result.", RESULTS
    ),
    "True returned": Mistake(
        lambda *_: True, "NoResult", "Things.made returned True, which is not a result.", RESULTS
    ),
    "the class returned": Mistake(
        lambda *_: Done,
        "NoResult",
        "Things.made returned the class Done, which is not a result.",
        "return an object: Done(...), with parentheses",
    ),
    "a coroutine returned": Mistake(
        lambda *_: some_coroutine(),
        "NoResult",
        "Things.made returned a coroutine of some_coroutine, which is not a result.",
        "write `async def made` and `return await some_coroutine(...)`",
    ),
    "an unknown state in goto": Mistake(
        lambda *_: Done(goto="deployed"),
        "UndeclaredEdge",
        "Things.made went to 'deployed', which is not declared (declared: none).",
        "add 'deployed' to the `then` of Things.made",
    ),
    "a kind that is not managed": Mistake(
        applied(config_map(kind="Service")),
        "UndeclaredOutput",
        "Things.made put a Service (v1) into its outputs, which Things.manages does not list.\n"
        "  Without it the object is not watched and the generated role cannot write it.",
        "add it to Things.manages, then run `myrmidon generate rbac`",
    ),
    "an object without a name": Mistake(
        applied({"apiVersion": "v1", "kind": "ConfigMap"}),
        "InvalidOutput",
        "an object without metadata.name cannot be applied or deleted: a ConfigMap.",
        "set metadata.name on the object",
    ),
    "the class instead of an object": Mistake(
        applied(Thing),
        "InvalidOutput",
        "the class Thing is not an object that can be applied.",
        "pass an object of it, such as Thing(...)",
    ),
    "a generated name": Mistake(
        applied(config_map(metadata={"generateName": "a-"})),
        "InvalidOutput",
        "ConfigMap a-* uses metadata.generateName; every pass would create another one.",
        "give it a name that follows from its parent, such as hashed_name(parent, data) for an immutable "
        "child",
    ),
    "a value that JSON does not have": Mistake(
        applied(config_map(data={"every": timedelta(1)})),
        "InvalidOutput",
        "ConfigMap a cannot be written as JSON: data.every is of type timedelta, which JSON does not have.",
        "use strings, numbers, booleans, None, lists and dicts with string keys",
    ),
    "a number where the server wants a text": Mistake(
        applied(config_map(data={"size": 1})),
        "Refused",
        'ConfigMap default/a: ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot '
        "unmarshal number into Go struct field ConfigMap.data of type string.",
        "correct the output as the server's message says",
    ),
    "a misspelled field": Mistake(
        applied(config_map(dta={"size": "1"})),
        "UnknownField",
        'ConfigMap default/a was not written: unknown field "dta".',
        'correct the name of the field, or update the CRD; field_validation="Warn" lets the server drop it',
    ),
    "a name in upper case": Mistake(
        applied(config_map(metadata={"name": "A"})),
        "Invalid",
        'ConfigMap default/A: metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain',
        "correct these fields where the output is built",
    ),
    "a child in another namespace": Mistake(
        applied(config_map(metadata={"name": "a", "namespace": "kube-system"})),
        "InvalidOwnerReference",
        "ConfigMap kube-system/a cannot be owned by Thing.demo.example.com default/a: it is in another "
        "namespace, and the garbage collector would delete the child.",
        "apply it with owner_refs=False; it is then tracked by label and deleted with its parent all the "
        "same",
    ),
    "a namespace that does not exist": Mistake(
        applied(config_map(metadata={"name": "a", "namespace": "nope"}), owner_refs=False),
        "NotFound",
        'ConfigMap nope/a: namespaces "nope" not found.',
        "create its namespace, or install its kind, before it",
    ),
    "the spec set": Mistake(
        changed("spec", "size", 2),
        "InternalError",
        "ReadOnlyError: obj.spec is read only; what a state may change is obj.status (test_run_time.py:",
        "write what was observed to obj.status; leave the spec to its author",
    ),
    "a label set": Mistake(
        lambda thing, _out: thing.labels.update(a="b"),
        "InternalError",
        "ReadOnlyError: obj.labels is read only; what a state may change is obj.status (test_run_time.py:",
        "use out.label_self(...)",
    ),
    "a misspelled field of the status": Mistake(
        changed("status", "ulr", "x"),
        "InternalError",
        "AttributeError: ThingStatus has no field 'ulr'; did you mean 'url'? (test_run_time.py:",
        "",
    ),
    "a misspelled field of the spec": Mistake(
        lambda thing, _out: Done() if thing.spec.sise else None,
        "InternalError",
        "AttributeError: 'ThingSpec' object has no attribute 'sise' (test_run_time.py:",
        "did you mean 'size'?",
    ),
    "a missing await": Mistake(
        lambda *_: some_coroutine().data,  # type: ignore[attr-defined]
        "InternalError",
        "AttributeError: 'coroutine' object has no attribute 'data' (test_run_time.py:",
        "write `await` before the call that returned it, in an `async def`",
    ),
    "a list of objects": Mistake(
        lambda _thing, out: out.apply([config_map()]),
        "InvalidOutput",
        "a list is not an object that can be applied or deleted.",
        "pass its objects to out.apply_all(...), or one by one",
    ),
    "one object to apply_all": Mistake(
        lambda _thing, out: out.apply_all(config_map()),
        "InvalidOutput",
        "apply_all got one object.",
        "write out.apply(...), or give it a list: out.apply_all([...])",
    ),
    "a kind without a name": Mistake(
        lambda _thing, out: out.delete(kinds.CONFIG_MAP),
        "InvalidOutput",
        "an object without metadata.name cannot be applied or deleted: a ConfigMap.",
        "pass its name after the kind; out.delete_all(kind) is for all children of a kind",
    ),
    "a method as the next state": Mistake(
        lambda *_: Done(goto=config_map),  # type: ignore[arg-type]
        "ProgrammingError",
        "Done(...) has goto='config_map', which is not the name of a state.",
        'write Done(goto="config_map")',
    ),
    "a Wait in a Done": Mistake(
        lambda *_: Done(Wait("Slow")),  # type: ignore[arg-type]
        "ProgrammingError",
        "Done(...) has goto=Wait(reason='Slow'",
        "write Done(recheck=Wait(...)) or Done(pause=Wait(...)), or return the Wait itself",
    ),
    "a time as the message": Mistake(
        lambda *_: Wait("Slow", timedelta(seconds=5)),  # type: ignore[arg-type]
        "ProgrammingError",
        "Wait('Slow') has a message of type timedelta, which is not a string.",
        "write after=datetime.timedelta(seconds=5)",
    ),
    "a number instead of a timedelta": Mistake(
        lambda *_: Wait("Pondering", after=5),  # type: ignore[arg-type]
        "ProgrammingError",
        "Wait('Pondering') has after=5, which is not a timedelta.",
        "write after=timedelta(seconds=5)",
    ),
    "a sentence as the reason": Mistake(
        lambda *_: Wait("not yet ready"),
        "ProgrammingError",
        "Wait has the reason 'not yet ready', which the API server refuses.",
        "use one word in CamelCase, such as 'RollingOut', and put the rest into the message",
    ),
    "a misspelled field of a spec given as JSON": Mistake(
        lambda *_: Thing(name="b", spec={"sise": 1}),
        "InvalidOutput",
        "Thing cannot be built: spec.sise is not a field of ThingSpec; did you mean 'size'?",
        "write the fields of ThingSpec, with names in camelCase, or pass spec=ThingSpec(...)",
    ),
}


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_a_state(name: str) -> None:
    """Its condition says what, where and how to fix it."""
    mistake = MISTAKES[name]
    with Harness(Things(mistake.act)) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.step()
        condition = cluster.condition(Thing, "a", "Made")

        assert condition is not None
        assert (condition.status, condition.reason) == ("False", mistake.reason)
        assert condition.message.startswith(mistake.problem)
        assert f"\n  fix: {mistake.fix}" in condition.message or not mistake.fix
        assert mistake.problem.splitlines()[0] in cluster.explain()


def test_conditions_that_are_written_by_hand() -> None:
    """They would be lost: each state owns one condition, and the framework writes it."""

    def act(thing: Thing, _out: OutputSet) -> Result:
        thing.status.conditions.append({"type": "Mine", "status": "True"})
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.step()
        ready = cluster.condition(Thing, "a", "Ready")

        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "InvalidStatus")
        said = cluster.explain()
        assert "a state has changed status.conditions, which the framework writes." in said
        assert "fix: return Done(condition=ConditionValue(...))" in said


def test_a_status_may_be_replaced_as_a_whole() -> None:
    """A new status has no conditions; those of the object stay."""

    def act(thing: Thing, _out: OutputSet) -> Result:
        thing.status = ThingStatus(url="http://a")
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.settle()
        cluster.patch(Thing, "a", {"spec": {"size": 2}})
        cluster.settle()

        assert cluster.ready(Thing, "a")
        assert cluster.require(Thing, "a").status.url == "http://a"


def test_a_kind_by_its_name() -> None:
    """The answer does not say to declare it, but how to name it."""

    class Readers(Controller[Thing]):
        @state(initial=True)
        async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
            await ctx.get("ConfigMap", "a")  # type: ignore[call-overload]
            return Done()

    with Harness(Readers()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.step()
        condition = cluster.condition(Thing, "a", "Made")

        assert condition is not None
        assert condition.message == (
            "Readers.made read 'ConfigMap', which is not a kind.\n"
            "  fix: use a constant of myrmidon.kinds, such as kinds.CONFIG_MAP, or a Resource class"
        )


def test_a_kind_that_is_not_read() -> None:
    """The cache does not have it, and the role does not allow it."""

    class Readers(Controller[Thing]):
        @state(initial=True)
        async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
            await ctx.get(kinds.POD, thing.name)
            return Done()

    with Harness(Readers()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.settle()
        condition = cluster.condition(Thing, "a", "Made")
        assert condition is not None
        assert condition.message == (
            "Readers.made read a Pod (v1), which Readers lists neither in manages nor in reads.\n"
            "  Without it there is no cache to read from and the generated role cannot read it.\n"
            "  fix: add it to Readers.reads, then run `myrmidon generate rbac`"
        )


def test_missing_rights() -> None:
    """As with a role that was generated before the code changed."""
    from myrmidon.testing import User  # noqa: PLC0415 - only here

    with Harness(Things(applied(config_map())), run_as=User("nobody")) as cluster:
        with pytest.raises(Exception, match="Things may not list") as error:
            cluster.settle()
        assert "\n  fix: let an administrator apply the role, `myrmidon generate rbac " in str(
            error.value
        )


class Forgetful(Controller[Thing]):
    """Forgets an ``await`` in each of the ways that Python does not notice."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Always true."""
        if ctx.get(kinds.CONFIG_MAP, thing.name):  # type: ignore[truthy-bool]
            return Done()
        return Wait("Missing")


class NotReady(Forgetful):
    """Asks whether a coroutine is ready."""

    async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Never true."""
        return Done() if ctx.is_ready(ctx.get(kinds.CONFIG_MAP, thing.name)) else Wait("Missing")


class Synchronous(Forgetful):
    """Cannot await at all."""

    def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:  # type: ignore[override]
        """A coroutine in a variable."""
        found = ctx.live.get(kinds.CONFIG_MAP, thing.name)
        return Done() if found else Wait("Missing")  # type: ignore[truthy-bool]


class Discarding(Forgetful):
    """Calls without looking at the result."""

    async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Nothing happens."""
        ctx.children()  # type: ignore[unused-coroutine]
        return Done()


@pytest.mark.parametrize(
    ("cls", "call", "fix"),
    [
        (Forgetful, "ctx.get", "write `await ctx.get(...)`"),
        (NotReady, "ctx.get", "write `await ctx.get(...)`"),
        (Synchronous, "ctx.live.get", "write `await ctx.live.get(...)` and `async def made`"),
        (Discarding, "ctx.children", "write `await ctx.children(...)`"),
    ],
)
def test_a_forgotten_await(cls: type[Controller[Any]], call: str, fix: str) -> None:
    """Found before the first pass, because no error would ever show it."""
    with pytest.raises(DefinitionError) as error:
        Harness(cls())
    problem, _, how = str(error.value).partition("\n  fix: ")
    assert problem.startswith(
        f"{cls.__name__}.made calls {call} without `await` (test_run_time.py:"
    )
    assert how == fix


class Careful(Forgetful):
    """Awaits, at once or later."""

    async def made(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Every coroutine is awaited."""
        later = ctx.get(kinds.CONFIG_MAP, thing.name)
        if await ctx.list(kinds.CONFIG_MAP) or await later:
            return Done()
        is_ready = ctx.is_ready(await ctx.get(kinds.CONFIG_MAP, "a"))
        return Wait("Impossible") if is_ready else Done()


def test_coroutines_that_are_awaited() -> None:
    """Also one that is kept in a variable for a while."""
    with Harness(Careful()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec()))
        cluster.settle()
        assert cluster.ready(Thing, "a")

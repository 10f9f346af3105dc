"""Mistakes in a test, as the harness answers them: what, and how to fix it, in the test's own line."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from myrmidon import (
    Controller,
    Done,
    Manager,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
)
from myrmidon.errors import MyrmidonError
from myrmidon.testing import Harness, NotSettledError


class ThingSpec(Model):
    """What is asked for."""

    size: int = 1


class Thing(Resource[ThingSpec, Status], group="demo.example.com", version="v1"):
    """An object of these tests."""


class Things(Controller[Thing]):
    """Makes a ConfigMap."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """The ConfigMap exists."""
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": thing.name}})
        return Done()


class Ponderers(Controller[Thing]):
    """Never ends."""

    @state(initial=True)
    def pondered(self, thing: Thing, out: OutputSet) -> Result:
        """It thinks, and thinks again."""
        return Wait("Pondering", "it thinks", after=timedelta(seconds=1))


@pytest.fixture
def cluster() -> Iterator[Harness]:
    """A cluster with one object that its controller has not seen."""
    with Harness(Things()) as made:
        made.apply(thing())
        yield made


def thing(**fields: Any) -> Thing:
    """An object."""
    return Thing(name=fields.pop("name", "a"), spec=ThingSpec(), **fields)


MISTAKES: dict[str, tuple[Callable[[Harness], Any], str, str]] = {
    "a number to settle": (
        lambda one: one.settle(10),  # type: ignore[arg-type]
        "settle got 10, which is not a timedelta.",
        "write timedelta(seconds=10)",
    ),
    "a text to advance": (
        lambda one: one.advance("1h"),  # type: ignore[arg-type]
        "advance got '1h', which is not a timedelta.",
        "write timedelta(seconds=...)",
    ),
    "a value to eventually": (
        lambda one: one.eventually(one.ready(Thing, "a")),  # type: ignore[arg-type]
        "eventually got ",
        "write eventually(lambda: ...), which is asked again and again",
    ),
    "the name of a kind": (
        lambda one: one.get("ConfigMap", "a"),  # type: ignore[call-overload]
        "'ConfigMap' is not a kind.",
        "write kinds.CONFIG_MAP",
    ),
    "the spec instead of the resource": (
        lambda one: one.get(ThingSpec, "a"),
        "ThingSpec is not a kind.",
        "use a constant of myrmidon.kinds, such as kinds.CONFIG_MAP, or a Resource class",
    ),
    "no apiVersion": (
        lambda one: one.apply({"kind": "Thing"}),
        "an object without apiVersion cannot be applied or deleted: Thing (no name).",
        "set apiVersion on the object",
    ),
    "no metadata": (
        lambda one: one.apply({"apiVersion": "v1", "kind": "ConfigMap"}),
        "an object without metadata.name cannot be applied or deleted: ConfigMap (no name).",
        "set metadata.name on the object",
    ),
    "the class instead of an object": (
        lambda one: one.apply(Thing),
        "the class Thing is not an object that can be applied.",
        "pass an object of it, such as Thing(...)",
    ),
    "a misspelled kind": (
        lambda one: one.apply({**thing().to_json(), "kind": "Thng"}),
        "no controller of this test knows the kind Thng (demo.example.com/v1).",
        "did you mean Thing? Otherwise pass its controller to harness(...)",
    ),
    "a misspelled field": (
        lambda one: one.patch(Thing, "a", {"spec": {"sise": 1}}),
        '422 Invalid:  "" is invalid: patch: Invalid value: strict decoding error: unknown field',
        "correct the manifest, or the model that the definition is made of",
    ),
    "a wrong type": (
        lambda one: one.apply({**thing().to_json(), "spec": {"size": "big"}}),
        '422 Invalid: Thing.demo.example.com "a" is invalid: spec.size: Invalid value: "string"',
        "correct the manifest, or the model that the definition is made of",
    ),
    "a namespace that does not exist": (
        lambda one: one.apply(thing(namespace="nope")),
        '404 NotFound: namespaces "nope" not found',
        "create the namespace before, with cluster.add_namespace(...)",
    ),
    "an object that does not exist": (
        lambda one: one.delete(Thing, "nope"),
        '404 NotFound: things.demo.example.com "nope" not found',
        "apply the object before, or look at its name and namespace",
    ),
    "a misspelled condition": (
        lambda one: one.condition(Thing, "a", "Mde"),
        "no state of these controllers has the condition 'Mde'.",
        "did you mean 'Made'?",
    ),
    "a file that does not exist": (
        lambda one: one.apply_file("nope.yaml"),
        "nope.yaml cannot be read: no such file or directory.",
        f"check the path; it is relative to {Path.cwd()}",
    ),
    "the class instead of a controller": (
        lambda _one: Harness(Things),  # type: ignore[arg-type]
        "Harness got the class Things, not an object of it.",
        "write Things(), with the arguments of its __init__ if it has any",
    ),
    "the class to a manager": (
        lambda _one: Manager().add(Things),  # type: ignore[arg-type]
        "Manager.add got the class Things, not an object of it.",
        "write Things(), with the arguments of its __init__ if it has any",
    ),
    "a list of controllers": (
        lambda _one: Harness([Things()]),  # type: ignore[arg-type]
        "Harness got a list, which is not a controller.",
        "pass each controller by itself: Harness(A(), B())",
    ),
    "a dict as options": (
        lambda _one: Harness(Things(), options={"trace": True}),  # type: ignore[arg-type]
        "options is {'trace': True}, which is not a ManagerOptions.",
        "write options=ManagerOptions(...)",
    ),
    "one object as manifests": (
        lambda _one: Harness(Things(), manifests=thing()),  # type: ignore[arg-type]
        "manifests is one object, not a list.",
        "write manifests=[...]",
    ),
    "a file as manifests": (
        lambda _one: Harness(Things(), manifests="sample.yaml"),
        "manifests is 'sample.yaml', not a list of objects.",
        "write cluster.apply_file(...) for the objects of a file",
    ),
    "back in time": (
        lambda one: one.advance(timedelta(seconds=-5)),
        "advance got datetime.timedelta(",
        "pass a positive timedelta",
    ),
    "the status without its subresource": (
        lambda one: one.patch(Thing, "a", {"status": {"observedGeneration": 7}}),
        "the status of a Thing is a subresource, so the server ignored the change.",
        'write patch(..., {"status": ...}, subresource="status")',
    ),
    "a list to apply": (
        lambda one: one.apply([thing()]),
        "a list is not an object that can be applied or deleted.",
        "pass its objects",
    ),
    "a misspelled role": (
        lambda _one: Harness(Things(), run_as="generated_role"),  # type: ignore[arg-type]
        "run_as is 'generated_role'.",
        'write run_as="generated-role", or run_as=User(name, groups)',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_test(name: str, cluster: Harness) -> None:
    """The error says what is wrong and what to write; a refusal of the server says it in a note."""
    act, problem, fix = MISTAKES[name]
    with pytest.raises(MyrmidonError) as error:
        act(cluster)
    said = "\n".join((str(error.value), *getattr(error.value, "__notes__", ())))
    assert said.startswith(problem)
    assert f"\n  fix: {fix}" in said


def test_asking_before_the_controllers_have_settled(cluster: Harness) -> None:
    """A missing settle() is the most frequent reason for a missing object."""
    with pytest.raises(AssertionError, match="ConfigMap default/a does not exist") as error:
        cluster.require(kinds.CONFIG_MAP, "a")
    assert str(error.value).endswith(
        ".\n  fix: call settle() before; the controllers are still at work"
    )


def test_asking_for_what_the_controllers_did_not_make(cluster: Harness) -> None:
    """After they have settled, settle() is not the fix."""
    cluster.settle()
    with pytest.raises(AssertionError) as error:
        cluster.require(kinds.CONFIG_MAP, "b")
    assert str(error.value) == "ConfigMap default/b does not exist; its namespace has a"


def test_not_settled() -> None:
    """Which object, in which state, why, and what to do."""
    with Harness(Ponderers()) as cluster:
        cluster.apply(thing())
        with pytest.raises(NotSettledError) as error:
            cluster.settle(timedelta(minutes=1))
    assert str(error.value) == (
        "not settled after 0:01:00; still owed a pass:\n"
        "  Thing.demo.example.com default/a\n"
        "      state pondered: Pondered is False (Pondering): it thinks\n"
        "      its next pass is due in 0:00:01\n"
        "  fix: look at the state in which it waits, give it more time with within=..., or wait for what "
        "the test needs with eventually(...)"
    )


def test_an_async_test() -> None:
    """With a cluster that exists already, or a new one."""
    made = Harness(Things())

    async def test() -> None:
        made.settle()

    async def other_test() -> None:
        Harness(Things())

    for one in (test, other_test):
        with pytest.raises(MyrmidonError) as error:
            asyncio.run(one())
        assert str(error.value) == (
            "the cluster of a test has an event loop of its own and cannot run inside another one.\n"
            "  fix: write `def test_...` instead of `async def test_...`; its calls need no await"
        )
    made.close()


def test_after_the_end_of_the_with_block() -> None:
    """The server is gone."""
    with Harness(Things()) as cluster:
        pass
    for act in (cluster.settle, lambda: cluster.apply(thing())):
        with pytest.raises(MyrmidonError) as error:
            act()
        assert str(error.value) == (
            "the cluster of this test is closed.\n"
            "  fix: use it inside its `with` block, and before close()"
        )


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("a: 1\nb: [\n", ":3 is not YAML: ", "correct that line or the one before it"),
        (
            "- 1\n",
            " holds a document that is not a Kubernetes object.",
            "write apiVersion, kind and",
        ),
    ],
)
def test_a_file_that_does_not_hold_objects(
    text: str, problem: str, fix: str, cluster: Harness, tmp_path: Path
) -> None:
    """With its line."""
    path = tmp_path / "sample.yaml"
    path.write_text(text)
    with pytest.raises(MyrmidonError) as error:
        cluster.apply_file(path)
    assert str(error.value).startswith(f"{path}{problem}")
    assert f"\n  fix: {fix}" in str(error.value)

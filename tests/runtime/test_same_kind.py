"""Two controllers of one kind in one program."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from myrmidon.api import Unstructured
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import conditions_in
from myrmidon.errors import DefinitionError
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, state
from myrmidon.runtime import Manager, ManagerOptions
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run
from tests.runtime.things import Thing, config_map, thing


class Base(Controller[Thing], abstract=True):
    """One state, one child if the spec asks for it."""

    manages: ClassVar[tuple[Any, ...]] = (kinds.CONFIG_MAP,)
    child: ClassVar[str]
    runs: ClassVar[list[str]] = []
    options = ControllerOptions(prune=True)

    def act(self, thing: Thing, out: OutputSet) -> Result:
        """Apply the child."""
        self.runs.append(self.name)
        if thing.spec.size == 1 or self.child == "a":
            out.apply(config_map(f"{thing.name}-{self.child}"))
        return Done()


class Alphas(Base):
    """The controller that writes Ready."""

    name = "alphas"
    child = "a"

    @state(initial=True, condition="Alpha")
    def alpha(self, thing: Thing, out: OutputSet) -> Result:
        """Its child is there."""
        return self.act(thing, out)

    @state(finalizer=True, condition="AlphaGone")
    def gone(self, _thing: Thing, _out: OutputSet) -> Result:
        """There is nothing to do."""
        return Done()


class Betas(Base):
    """The other controller, whose child depends on the spec."""

    name = "betas"
    child = "b"
    options = ControllerOptions(prune=True, ready_condition=False)

    @state(initial=True, condition="Beta")
    def beta(self, thing: Thing, out: OutputSet) -> Result:
        """Its child is there."""
        return self.act(thing, out)

    @state(finalizer=True, condition="BetaGone")
    def gone(self, _thing: Thing, _out: OutputSet) -> Result:
        """There is nothing to do."""
        return Done()


class NotedBetas(Betas):
    """The other controller, with its conditions in an annotation."""

    options = ControllerOptions(prune=True, conditions="annotation")


@pytest.mark.law("G4")
@pytest.mark.parametrize("second", [Betas, NotedBetas])
def test_each_writes_its_own_conditions_and_finalizer(second: type[Betas]) -> None:
    """Both converge, and each prunes only its own children."""
    with Harness(Alphas(), second()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        obj = cluster.require(Thing.KIND, "it")
        types = {one["type"] for one in conditions_in(obj)}
        assert types == {"Alpha", "Ready"} | ({"Beta"} if second is Betas else set())
        assert cluster.condition(Thing, "it", "Beta") is not None
        assert set(obj["metadata"]["finalizers"]) == {
            "test.myrmidon.dev/alphas",
            "test.myrmidon.dev/betas",
        }
        assert [one["name"] for one in obj["status"]["resourceRefs"]] == ["it-a"]
        cluster.at_rest()

        cluster.patch(Thing, "it", {"spec": {"size": 2}})
        cluster.settle()
        assert cluster.get(kinds.CONFIG_MAP, "it-a") is not None
        assert cluster.get(kinds.CONFIG_MAP, "it-b") is None
        cluster.restart()
        cluster.at_rest()
        assert cluster.get(kinds.CONFIG_MAP, "it-a") is not None

        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None


@pytest.mark.law("G4")
def test_a_write_of_one_wakes_the_other() -> None:
    """Each controller recognises its own writes; its own status does not wake it."""
    with Harness(Alphas(), Betas(), options=ManagerOptions(seed=0, trace=True)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        found = cluster.manager.views("Thing", "default/it")
        assert [one.controller for one in found] == ["alphas", "betas"]
        assert cluster.manager.view("Thing", "default/it") == found[0]
        causes = [cause for one in found for cause in one.causes]
        assert any("self update" in cause for cause in causes), causes

        before = len(Base.runs)
        cluster.advance(timedelta(minutes=10))
        assert len(Base.runs) == before


class Overlapping(Betas):
    """A controller that writes Ready, too."""

    options = ControllerOptions()


class Elsewhere(Controller[Unstructured], kind=kinds.CONFIG_MAP):
    """A controller of another kind with the same name."""

    name = "alphas"

    @state(initial=True)
    def there(self, _obj: Unstructured, _out: OutputSet) -> Result:
        """It is there."""
        return Done()


class SameName(Betas):
    """A controller with the name of the other one."""

    name = "alphas"


NAME = (
    "they would take each other's writes and finalizers for their own.\n"
    '  fix: write name = "..." in one of them'
)
REFUSED: dict[type[Controller[Any]], str] = {
    SameName: "SameName and Alphas both control Thing.test.myrmidon.dev and have the name "
    f"'alphas'; {NAME}",
    Elsewhere: f"Elsewhere and Alphas both have the name 'alphas'; {NAME}",
    Overlapping: (
        "Overlapping and Alphas both control Thing.test.myrmidon.dev and write the condition "
        "Ready to its status; they would overwrite each other.\n"
        "  fix: write options = ControllerOptions(ready_condition=False) in one of them, or "
        'write options = ControllerOptions(conditions="annotation") in one of them'
    ),
}


@pytest.mark.law("G4")
@pytest.mark.parametrize(("other", "said"), REFUSED.items())
def test_controllers_that_conflict_are_refused(other: type[Controller[Any]], said: str) -> None:
    """The error is raised when they are added, with the fix."""

    async def add() -> None:
        manager = Manager()
        manager.add(Alphas())
        manager.add(other())

    with pytest.raises(DefinitionError) as error:
        run(add())
    assert str(error.value) == said

"""Rolling replacement, on a model whose children become ready and unready at random."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.errors import OutputError
from myrmidon.fsm import Done, Wait, revised, rolling
from myrmidon.fsm.children.rollouts import REVISION, Rollout
from myrmidon.sets import OutputSet

STEP = st.tuples(
    st.sampled_from(["flip", "new revision", "scale", "nothing"]),
    st.integers(0, 5),
    st.booleans(),
)


def ship(number: int, image: str = "1") -> Json:
    """Build a wanted child."""
    meta = {"name": f"ship-{number}", "labels": {"fleet": "a"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"image": image}}


@dataclass
class Fleet:
    """The children on the server, and what is wanted."""

    max_unavailable: int
    max_surge: int
    size: int = 3
    image: int = 1

    def __post_init__(self) -> None:
        self.children: dict[str, Json] = {}
        self.ready: set[str] = set()

    @property
    def wanted(self) -> list[Json]:
        """Return the manifests; names depend on the revision if children may surge."""
        plain = [ship(number, str(self.image)) for number in range(self.size)]
        return [revised(one) for one in plain] if self.max_surge else plain

    def step(self, *, gone: bool) -> Rollout:
        """Do what ``rolling`` says, and check the laws."""
        rollout = rolling(
            self.wanted,
            self.children.values(),
            max_unavailable=self.max_unavailable,
            max_surge=self.max_surge,
            is_ready=lambda child: name_of(child) in self.ready,
        )
        before = len(self.children)
        going = {name_of(child) for child in rollout.delete}
        if going & self.ready:
            assert len(self.ready - going) >= self.size - self.max_unavailable
        for manifest in rollout.apply:
            there = self.children.setdefault(name_of(manifest), manifest)
            assert there["metadata"]["labels"] == manifest["metadata"]["labels"], "never changed"
        assert len(self.children) <= max(before, self.size + self.max_surge)
        for name in going:
            self.ready.discard(name)
            child = self.children[name]
            meta = {**child["metadata"], "deletionTimestamp": "now"}
            self.children[name] = {**child, "metadata": meta}
        if gone:
            self.collect()
        return rollout

    def collect(self) -> None:
        """Remove the objects that are being deleted."""
        self.children = {
            name: child
            for name, child in self.children.items()
            if "deletionTimestamp" not in child["metadata"]
        }


@pytest.mark.law("G8")
@pytest.mark.parametrize(
    ("max_unavailable", "max_surge"), [(1, 0), (2, 0), (0, 1), (1, 1), (0, 3), (9, 0)]
)
@given(steps=st.lists(STEP, max_size=12))
def test_never_fewer_ready_than_allowed_and_it_ends(
    max_unavailable: int, max_surge: int, steps: Any
) -> None:
    """Children become ready and unready, and the wanted set changes, at random."""
    fleet = Fleet(max_unavailable, max_surge)
    for what, number, gone in steps:
        names = sorted(set(fleet.children))
        if what == "flip" and names:
            fleet.ready ^= {names[number % len(names)]} - {
                name
                for name, one in fleet.children.items()
                if "deletionTimestamp" in one["metadata"]
            }
        elif what == "new revision":
            fleet.image += 1
        elif what == "scale":
            fleet.size = number
        fleet.step(gone=gone)
    for _ in range(3 * (len(fleet.children) + fleet.size) + 3):
        fleet.collect()
        fleet.ready = set(fleet.children)
        fleet.step(gone=True)
    rollout = fleet.step(gone=True)
    assert rollout.result == Done()
    assert {name_of(one) for one in fleet.wanted} == set(fleet.children)
    labels = {one["metadata"]["labels"][REVISION] for one in fleet.children.values()}
    assert labels == {one["metadata"]["labels"][REVISION] for one in rollout.apply}


@pytest.mark.law("G8")
def test_a_revision_that_does_not_become_ready_stops_the_replacement() -> None:
    """One child is lost, the others stay as they are."""
    fleet = Fleet(1, 0)
    for _ in range(5):
        fleet.step(gone=True)
        fleet.ready = set(fleet.children)
    fleet.image += 1
    rollout = fleet.step(gone=True)
    for _ in range(5):
        rollout = fleet.step(gone=True)

    assert len(fleet.ready) == 2
    assert isinstance(rollout.result, Wait)
    assert rollout.result.keep_outputs
    assert rollout.result.message == (
        "0 of 3 are current and ready, 2 are old; waiting for ship-0, ship-1, ship-2"
    )


def test_the_outputs_of_a_step() -> None:
    """New children are applied with the given options, and old ones deleted."""
    out = OutputSet(namespace="default")
    stale = {**ship(1), "metadata": {"name": "ship-1", "namespace": "default"}}
    result = rolling([ship(0)], [stale], max_surge=1).into(out, owner_refs=False)

    assert isinstance(result, Wait)
    assert [output.ref.name for output in out.applied()] == ["ship-0"]
    assert not out.applied()[0].options.owner_refs
    assert [output.ref.name for output in out.deleted()] == ["ship-1"]


@pytest.mark.parametrize(
    ("existing", "limits", "said"),
    [
        ([], {"max_unavailable": 0}, "can replace no child"),
        ([], {"max_unavailable": -1, "max_surge": 2}, "can replace no child"),
        ([ship(0)], {"max_unavailable": 0, "max_surge": 1}, "has the name of its successor"),
    ],
)
def test_limits_that_allow_no_step_are_errors(existing: Any, limits: Any, said: str) -> None:
    """Such a rollout would wait for ever."""
    with pytest.raises(OutputError, match=said) as caught:
        rolling([ship(0)], existing, **limits)
    assert "\n  fix: " in str(caught.value)

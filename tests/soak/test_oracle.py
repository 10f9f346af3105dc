"""The oracle of the soak, with made-up parents and children."""

import base64
from copy import deepcopy
from typing import Any

import pytest

from tests.soak.oracle import expected, problems

READY = {"type": "Ready", "status": "True", "observedGeneration": 2}


def parent(kind: str, **spec: Any) -> dict[str, Any]:
    """A parent that is Ready."""
    return {
        "kind": kind,
        "metadata": {"name": "p", "namespace": "soak-a", "uid": "u", "generation": 2},
        "spec": spec,
        "status": {"conditions": [READY]},
    }


def child(kind: str, name: str, data: dict[str, str], **meta: Any) -> dict[str, Any]:
    """A child of that parent."""
    owners = [{"uid": "u"}]
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": "soak-a", "ownerReferences": owners, **meta},
        "data": data,
    }


TEAM = parent("Team", text="t", parts=["a"])
SECRET = child("Secret", "team-p", {"text": base64.b64encode(b"t").decode()})
PART = child("ConfigMap", "team-p-a", {"text": "t", "part": "a"})


def test_everything_as_it_should_be() -> None:
    """Parents that are Ready, and exactly their children."""
    assert problems([TEAM], [SECRET, PART]) == []


def test_tracked_children_are_in_both_namespaces_and_have_no_owner() -> None:
    """The other namespace is a fixed one."""
    found = expected([parent("Spread", text="t", parts=["a"])])
    assert {(key.namespace, child.owner) for key, child in found.items()} == {
        ("soak-a", ""),
        ("soak-b", ""),
    }


@pytest.mark.parametrize(
    ("parents", "children", "said"),
    [
        ([TEAM], [SECRET], "ConfigMap soak-a/team-p-a is missing"),
        ([], [PART], "ConfigMap soak-a/team-p-a is left over (owner u)"),
        ([TEAM], [SECRET, {**PART, "data": {"text": "old", "part": "a"}}], "instead of"),
        (
            [TEAM],
            [SECRET, child("ConfigMap", "team-p-a", PART["data"], ownerReferences=[{"uid": "w"}])],
            "instead of",
        ),
        ([{**TEAM, "status": {}}], [SECRET, PART], "has no condition Ready"),
    ],
    ids=["missing", "left over", "old content", "other owner", "silent"],
)
def test_each_problem_is_named(parents: Any, children: Any, said: str) -> None:
    """One sentence for one problem."""
    (found,) = problems(parents, children)
    assert said in found.text
    assert found.parent == ("u" if parents else "")


@pytest.mark.parametrize(
    "change",
    [{"status": "False"}, {"status": "Unknown"}, {"observedGeneration": 1}],
    ids=str,
)
def test_ready_counts_for_the_present_generation_only(change: dict[str, Any]) -> None:
    """Ready for an older generation is not Ready."""
    team = deepcopy(TEAM)
    team["status"]["conditions"][0].update(change)
    (found,) = problems([team], [SECRET, PART])
    assert "Team soak-a/p (generation 2) says" in found.text


def test_parent_that_is_not_gone_is_a_problem() -> None:
    """Its children are still wanted until it is."""
    team = deepcopy(TEAM)
    team["metadata"] |= {"deletionTimestamp": "now", "finalizers": ["f"]}
    assert [found.text for found in problems([team], [SECRET, PART])] == [
        "Team soak-a/p is deleted and not gone: finalizers ['f']"
    ]

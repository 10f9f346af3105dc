"""Immutable fields and one-of, as rules that the server enforces."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Status, state
from myrmidon.api import Immutable, Json, ListMap, Rule, one_of
from myrmidon.api.typed.ready_made_rules import cel_name
from myrmidon.apiserver.schema.definitions import check_definition
from myrmidon.errors import DefinitionError, InvalidError
from myrmidon.generate import crd, schema_of_model
from myrmidon.testing import Harness


class Disk(Model):
    """A disk."""

    name: str
    size: Annotated[int, Immutable()] = 1


class Spec(Model, rules=[one_of("git_url", "image"), one_of("a", "b", required=False)]):
    """Immutable in all its forms."""

    region: Annotated[str, Immutable()]
    zone: Annotated[str | None, Immutable()] = None
    owner: Annotated[str | None, Immutable(set_once=True)] = None
    namespace: str | None = Field(default=None, json_schema_extra={"immutable": True})
    replicas: Annotated[int, Immutable()] = 3
    free: str = Field(default="x", json_schema_extra={"immutable": False})
    disks: Annotated[list[Disk], ListMap("name")] = Field(default_factory=list, max_length=10)
    by_name: dict[str, Disk] = Field(default_factory=dict, max_length=10)
    git_url: str | None = None
    image: str | None = None
    a: int | None = None
    b: int | None = None


class Box(Resource[Spec, Status], group="demo.example.com", version="v1"):
    """A box."""


class Boxes(Controller[Box]):
    """Does nothing."""

    @state(initial=True, condition="Made")
    def made(self, box: Box, out: OutputSet) -> Result:
        """The box is there."""
        return Done()


BASE: Json = {"region": "eu", "image": "box:1"}
CHANGES: list[tuple[Json, Json, str]] = [
    ({}, {"free": "y"}, ""),
    ({}, {"region": "us"}, "region is immutable"),
    ({}, {"zone": "a"}, "zone is immutable"),
    ({"zone": "a"}, {"zone": "b"}, "zone is immutable"),
    ({"zone": "a"}, {"zone": None}, "zone is immutable"),
    ({}, {"owner": "me"}, ""),
    ({"owner": "me"}, {"owner": "you"}, "owner is immutable"),
    ({"owner": "me"}, {"owner": None}, "owner is immutable"),
    ({"namespace": "a"}, {"namespace": "b"}, "namespace is immutable"),
    ({}, {"replicas": 4}, "replicas is immutable"),
    ({"disks": [{"name": "a", "size": 1}]}, {"disks": [{"name": "a", "size": 2}]}, "size"),
    ({"disks": [{"name": "a", "size": 1}]}, {"disks": [{"name": "b", "size": 2}]}, ""),
    ({"byName": {"a": {"name": "a"}}}, {"byName": {"a": {"name": "a", "size": 2}}}, "size"),
    ({}, {"gitUrl": "g"}, "exactly one of gitUrl, image must be set"),
    ({}, {"image": None}, "exactly one of gitUrl, image must be set"),
    ({}, {"image": None, "gitUrl": "g"}, ""),
    ({}, {"a": 1, "b": 2}, "at most one of a, b must be set"),
    ({}, {"b": 2}, ""),
]
"""The spec before, a merge patch of it, and why that is refused; empty if it is allowed."""


def test_the_definition_is_accepted() -> None:
    """By the rules of the real server, the costs of its expressions included."""
    assert check_definition(crd(Box)) == []


def test_the_rules_stand_on_the_model_that_holds_the_field() -> None:
    """There they see a field that was added or removed."""
    rules = schema_of_model(Disk)["x-kubernetes-validations"]

    assert rules == [
        {
            "rule": "!has(oldSelf.size) || (has(self.size) && self.size == oldSelf.size)",
            "message": "size is immutable",
            "fieldPath": ".size",
        }
    ]


@pytest.mark.parametrize(("old", "new", "refused"), CHANGES, ids=str)
def test_a_change_of_an_immutable_field_is_refused(old: Json, new: Json, refused: str) -> None:
    """Changed, added or removed, as the marker says."""
    with Harness(Boxes()) as cluster:
        cluster.apply(Box(name="box", spec={**BASE, **old}))
        if not refused:
            cluster.patch(Box, "box", {"spec": new})
            return
        with pytest.raises(InvalidError) as error:
            cluster.patch(Box, "box", {"spec": new})
    assert refused in str(error.value)


def test_a_list_without_a_key_cannot_have_rules_about_changes() -> None:
    """The server would refuse the definition, with a path that the author never wrote."""

    class Loose(Model):
        disks: list[Disk] = Field(default_factory=list)

    class Growing(Model):
        sizes: list[Annotated[int, Rule("self >= oldSelf", message="grows")]]

    for model in (Loose, Growing):
        with pytest.raises(DefinitionError, match=r"which old element belongs to which new one"):
            schema_of_model(model)


def test_one_of_needs_two_fields() -> None:
    """D2: at import."""
    with pytest.raises(DefinitionError, match="fewer than two fields"):
        one_of("a")


def test_a_field_whose_name_is_not_an_identifier_has_a_quoted_path() -> None:
    """And an escaped name in the expression."""

    class Odd(Model):
        odd: Annotated[str, Immutable()] = Field(alias="my-odd/name")

    (rule,) = schema_of_model(Odd)["x-kubernetes-validations"]
    assert rule["fieldPath"] == "['my-odd/name']"
    assert "self.my__dash__odd__slash__name" in rule["rule"]


@given(st.text("a_.-/", min_size=1, max_size=6) | st.sampled_from(["in", "namespace"]))
def test_names_in_cel_are_distinct_identifiers(name: str) -> None:
    """Whatever a field is called in JSON."""
    written: Any = cel_name(name)

    assert written.replace("_", "a").isalnum()

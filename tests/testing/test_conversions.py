"""``check_conversions`` accepts conversions that keep their word, and shows the field that one forgets."""

from typing import Any, Self

import pytest
from hypothesis import strategies as st

from myrmidon import Model, Resource, Rule, Status
from myrmidon.errors import UsageError
from myrmidon.testing import ConversionLawError, check_conversions
from tests.versions.apps import App, AppV1Beta1

LOST = ["spec.owner", "spec.note", "spec.ports[].name", "spec.ports[].encrypted"]


def test_conversions_that_keep_their_word_pass() -> None:
    """Fields that one version does not have are named; any version stands for its kind."""
    check_conversions(App, lost=LOST, max_examples=30)
    check_conversions(AppV1Beta1, lost=LOST, max_examples=3)


def test_a_field_that_the_other_version_never_sees_is_shown() -> None:
    """With the smallest object."""
    with pytest.raises(ConversionLawError) as caught:
        check_conversions(App, lost=LOST[1:], max_examples=30)
    text, _, spec = str(caught.value).rpartition("  the object: ")
    assert text == (
        "the law 'nothing forgotten' of conversion does not hold from App (v1) to AppV1Beta1 (v1beta1): "
        "these fields are kept in an annotation only, the other version never sees them\n"
        "  - spec.owner\n"
        "  fix: convert them in both functions, or name them: lost=['spec.owner']\n"
    )
    assert "'image': 'a'" in spec
    assert "'owner': 'a'" in spec


class NewSpec(Model):
    """A spec."""

    size: int = 1
    name: str = ""


class OldSpec(Model, rules=[Rule("self.size != 7", message="not seven")]):
    """A spec with a rule that only the server checks."""

    size: int = 1
    label: str = ""


def make(to_size: Any, from_size: Any) -> type[Resource[Any, Any]]:
    """Define two versions that convert the size with these functions."""

    class Thing(Resource[NewSpec, Status], group="things.example.com", version="v1"):
        pass

    class OldThing(Resource[OldSpec, Status], version="v1beta1", converts=Thing):
        def to_hub(self) -> Thing:
            spec = NewSpec(size=to_size(self.spec.size), name=self.spec.label)
            return Thing(name=self.name, spec=spec)

        @classmethod
        def from_hub(cls, hub: Thing) -> Self:
            spec = OldSpec(size=from_size(hub.spec.size), label=hub.spec.name)
            return cls(name=hub.name, spec=spec)

    return Thing


def test_a_conversion_that_raises_is_shown_with_its_object() -> None:
    """The smallest object for which it does."""

    def limited(size: int) -> int:
        if size > 3:
            raise ValueError("too large")
        return size if size != 7 else 6

    with pytest.raises(
        ConversionLawError, match=r"OldThing.from_hub raised ValueError: too large"
    ) as told:
        check_conversions(make(int, limited), max_examples=60)
    assert "'size': 4" in str(told.value)


def test_a_conversion_that_returns_what_the_schema_refuses_is_shown() -> None:
    """A user could not write it back."""
    with pytest.raises(ConversionLawError, match="not seven") as told:
        check_conversions(make(int, lambda _: 7), max_examples=5)
    assert "the law 'valid'" in str(told.value)


def test_a_conversion_that_depends_on_more_than_its_object_is_shown() -> None:
    """It does not come back as it was."""
    counted = iter(range(10_000))

    with pytest.raises(ConversionLawError, match=r"there and back|an edit wins|nothing forgotten"):
        check_conversions(make(lambda size: size + next(counted), int), max_examples=5)


def test_fields_may_have_strategies_of_their_own() -> None:
    """For each class."""
    thing = make(int, int)

    check_conversions(thing, fields={thing: {"size": st.just(6)}}, max_examples=5)


def test_a_kind_without_other_versions_is_a_mistake() -> None:
    """Probably the module of the other version is not imported."""

    class Alone(Resource[NewSpec, Status], group="things.example.com", version="v1"):
        pass

    with pytest.raises(UsageError, match="Alone has no other version"):
        check_conversions(Alone)

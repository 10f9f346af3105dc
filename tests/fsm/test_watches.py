"""Predicates, watches, channels, causes, suspension and names."""

from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.equality import same
from myrmidon.errors import DefinitionError
from myrmidon.fsm import (
    Cause,
    Channel,
    Index,
    Predicate,
    Watch,
    annotations_changed,
    changed,
    generation_changed,
    hashed_name,
    labels_changed,
)
from myrmidon.fsm.declaration.watches import takes_lookup
from myrmidon.fsm.metadata.suspension import is_suspended
from tests.fsm.things import Thing, ThingSpec, define, marked
from tests.strategies import documents, values

SEEN = st.none() | documents()


@given(before=SEEN, after=SEEN)
def test_predicates_are_an_algebra(before: Json | None, after: Json | None) -> None:
    """They combine with and, or and not."""
    left, right = changed("a"), changed("b.c")

    assert (left & right)(before, after) == (left(before, after) and right(before, after))
    assert (left | right)(before, after) == (left(before, after) or right(before, after))
    assert (~left)(before, after) is not left(before, after)
    assert (left & ~right).name == "(changed(a) & ~changed(b.c))"
    assert (left | right).name == "(changed(a) | changed(b.c))"


@given(before=documents(), after=documents())
def test_changed_looks_at_its_paths_only(before: Json, after: Json) -> None:
    """New and deleted objects count as changes; a value that is not a map has no fields."""
    assert changed("a", "b")(before, after) == (
        not (same(before.get("a"), after.get("a")) and same(before.get("b"), after.get("b")))
    )
    assert changed("a")(None, after)
    assert changed("a")(before, None)
    assert not changed("x.y.z")(before, after)
    assert not changed("a.b")({"a": 1}, {"a": [2]})
    assert changed("a.b")({"a": {"b": 1}}, {"a": {"b": True}})


@pytest.mark.parametrize(
    ("predicate", "field", "value"),
    [
        (generation_changed, "generation", 2),
        (labels_changed, "labels", {"a": "b"}),
        (annotations_changed, "annotations", {"a": "b"}),
    ],
    ids=["generation", "labels", "annotations"],
)
def test_metadata_predicates(predicate: Predicate, field: str, value: Any) -> None:
    """Each looks at its own part of the metadata."""
    plain: Json = {"metadata": {"name": "a"}}
    other: Json = {"metadata": {"name": "a", field: value}}

    assert predicate(plain, other)
    assert not predicate(other, {**other, "status": {}})
    assert predicate(None, plain)
    assert predicate(plain, None)


def test_a_watch_covers_every_change_by_default() -> None:
    """By default it covers our own cluster and all namespaces."""
    watch = Watch(kinds.SECRET, to=lambda _: ["default/a"])

    assert watch.when({}, {})
    assert watch.remote is None
    assert not takes_lookup(cast("Any", watch.to))


def test_a_channel_reaches_every_subscriber() -> None:
    """Subscribers get each event until they unsubscribe."""
    channel = Channel("hooks", debounce=timedelta(seconds=1))
    heard: list[Any] = []
    stop = channel.subscribe(lambda key, delay: heard.append((key, delay)))

    channel.send("default/a")
    stop()
    channel.send("default/b")

    assert heard == [("default/a", timedelta(seconds=1))]
    assert repr(channel) == "Channel('hooks')"


def test_a_cause_prints_as_a_phrase() -> None:
    """For logs and people."""
    ref = ObjectRef(kinds.CONFIG_MAP, "a", "default")

    assert str(Cause("child", "update", ref)) == "child update of ConfigMap default/a"
    assert str(Cause("resync")) == "resync generic"
    read = Cause("read", "update", ref, "configured")
    assert str(read) == "update of ConfigMap default/a, which it read in state configured"


@given(value=st.sampled_from(["true", "false", "True", "", "1"]) | st.none())
def test_w6_only_true_suspends(value: str | None) -> None:
    """Values such as ``"false"`` or a missing annotation do not suspend."""
    obj: Json = {"metadata": {"labels": {"myrmidon.dev/suspend": value} if value else None}}

    assert is_suspended(obj) is (value == "true")
    assert not is_suspended({})


@given(name=st.text("ab-.", min_size=1, max_size=80), left=values(), right=values())
def test_a11_a_hashed_name_follows_from_its_content(name: str, left: Any, right: Any) -> None:
    """It is the same in every pass, differs for other content, and fits every kind."""
    made = hashed_name(name, left)

    assert made == hashed_name(name, left)
    assert (made == hashed_name(name, right)) == same(left, right)
    assert len(made) <= 63
    assert made.startswith(name[:52].rstrip("-."))
    assert hashed_name(Thing(name="web", spec=ThingSpec()), left) == hashed_name("web", left)


def test_a_watch_finds_objects_by_an_index_or_a_function() -> None:
    """A function takes the object, or the object and a lookup; built-in functions work, too."""
    functions_of_one: tuple[Any, ...] = (lambda obj: [], lambda obj, more=1: [], max)
    for to in functions_of_one:
        assert not takes_lookup(to)
    assert takes_lookup(lambda obj, lookup: [])
    functions = {"secret": lambda obj: [obj["spec"]["secret"]]}
    found = define(
        a=marked(initial=True),
        indexes={Thing: functions},
        watches=(Watch(kinds.SECRET, to=Index("secret")),),
    )
    assert found.index_functions == {Thing.KIND: functions}


@pytest.mark.parametrize(
    ("to", "said"),
    [
        (
            Index("secret"),
            "names the index 'secret' of Thing.example.com, which is not declared",
        ),
        (lambda *, a: [a], "which is not a function of an object"),
        (lambda a, b, c: [], "which is not a function of an object"),
        ("name", "which is not a function of an object"),
    ],
    ids=["index", "too few", "too many", "no function"],
)
def test_d2_a_watch_that_cannot_find_objects_is_refused(to: Any, said: str) -> None:
    """The error lists the ways in which it can."""
    with pytest.raises(DefinitionError) as raised:
        define(a=marked(initial=True), watches=(Watch(kinds.SECRET, to=to),))
    assert said in str(raised.value)
    assert "fix: " in str(raised.value)

"""Echoes: what a pass wrote comes back by watch, and is told from news."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon import kinds
from myrmidon.api.refs import ObjectRef
from myrmidon.fsm.context import Cause
from myrmidon.runtime import echoes as module
from myrmidon.runtime.echoes import Echoes
from myrmidon.runtime.triggers import Trigger, author
from tests.runtime.things import Thing

A, B = (ObjectRef(Thing.KIND, name, "default") for name in "ab")
MAP, SECRET = (ObjectRef(kind, "x", "default") for kind in (kinds.CONFIG_MAP, kinds.SECRET))


def trigger(key: ObjectRef = A, ref: ObjectRef = MAP) -> Trigger:
    """A change of a child."""
    return Trigger(key, Cause("child", "update", ref))


def wrote(echoes: Echoes, key: ObjectRef, ref: ObjectRef, version: str) -> None:
    """A pass over the key has written an object."""
    echoes.expect(author("thing", key), ref, version)


@given(
    written=st.sets(
        st.tuples(st.sampled_from([A, B]), st.sampled_from([MAP, SECRET]), st.sampled_from("123"))
    ),
    event=st.tuples(
        st.sampled_from([A, B]), st.sampled_from([MAP, SECRET]), st.sampled_from("123")
    ),
)
def test_an_echo_is_the_very_write_of_the_very_key(
    written: set[tuple[ObjectRef, ObjectRef, str]], event: tuple[ObjectRef, ObjectRef, str]
) -> None:
    """Another version, another object of the same version, or another one's pass: news."""
    echoes = Echoes("thing")
    for key, ref, version in written:
        wrote(echoes, key, ref, version)
    key, ref, version = event

    assert echoes.is_echo(trigger(key, ref), version) == (event in written)


def test_a_write_that_nobody_signed_is_expected_by_nobody() -> None:
    """A live read shows what others wrote: it takes no room here."""
    echoes = Echoes("thing")
    echoes.expect("", MAP, "1")

    assert echoes.expected == 0


def test_what_was_held_is_told_once_and_only_if_it_was_news() -> None:
    """By the end of the pass it is known which of the events were its own."""
    echoes = Echoes("thing")
    theirs, own, other = trigger(ref=SECRET), trigger(), trigger(B, SECRET)
    echoes.hold(own, "5")
    echoes.hold(theirs, "6")
    echoes.hold(other, "7")
    wrote(echoes, A, MAP, "5")  # the answer comes after the event

    assert echoes.news(A) == [theirs]
    assert echoes.news(A) == []
    assert echoes.news(B) == [other]


def test_a_new_pass_expects_nothing_of_the_last() -> None:
    """Its own writes only; those of other keys are still expected."""
    echoes = Echoes("thing")
    wrote(echoes, A, MAP, "1")
    wrote(echoes, B, MAP, "1")
    echoes.begin(A)

    assert not echoes.is_echo(trigger(A), "1")
    assert echoes.is_echo(trigger(B), "1")


def test_what_is_expected_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is taken for news, which costs a pass and loses nothing."""
    monkeypatch.setattr(module, "_AUTHORS_MAX", 2)
    echoes = Echoes("thing")
    keys = [ObjectRef(Thing.KIND, str(number), "default") for number in range(4)]
    for key in keys:
        wrote(echoes, key, MAP, "1")

    assert echoes.expected == 2
    assert [echoes.is_echo(trigger(key), "1") for key in keys] == [False, False, True, True]

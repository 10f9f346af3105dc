"""Manages and Reads: what they mean together, and what is refused when the class is defined."""

from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.errors import DefinitionError, ManagedKindError
from myrmidon.fsm import (
    Controller,
    ControllerOptions,
    Manages,
    Predicate,
    Reads,
    Watch,
    changed,
    generation_changed,
)
from myrmidon.fsm.declaration.shapes import KindShape
from tests.fsm.things import Thing, define, marked

TEXT: Any = "text"


def made(**members: Any) -> type[Controller[Thing]]:
    """Define a controller with these declarations."""
    return define(a=marked(initial=True), **members)


def test_a_plain_kind_has_the_widest_shape() -> None:
    """It takes precedence over a narrower entry; the controller's own kind is listed as well."""
    data = changed("data")
    controller = made(
        manages=(
            kinds.POD,
            Manages(kinds.DEPLOYMENT, when=data, selector="a=b", namespaces=("x",)),
        ),
        reads=(kinds.NODE, Reads(kinds.SECRET, fields=("data",), field_selector="type=a")),
    )
    assert controller.managed_kinds == (kinds.POD, kinds.DEPLOYMENT)
    assert controller.read_kinds == (kinds.NODE, kinds.SECRET)
    assert controller.shapes == {
        Thing.KIND: KindShape(),
        kinds.POD: KindShape(),
        kinds.DEPLOYMENT: KindShape(("x",), "a=b", child_when=data),
        kinds.NODE: KindShape(),
        kinds.SECRET: KindShape(field_selector="type=a", fields=("data",)),
    }


def test_a_kind_that_is_managed_and_read_has_one_shape() -> None:
    """The entry in manages decides what is cached, and each entry which changes count."""
    data, meta = changed("data"), changed("metadata.labels")
    controller = made(
        manages=(Manages(kinds.SECRET, when=data, selector="a=b"),),
        reads=(Reads(kinds.SECRET, when=meta, wakes=False), Reads(Thing, wakes=False)),
    )
    assert controller.shapes == {
        Thing.KIND: KindShape(wakes=False),
        kinds.SECRET: KindShape((), "a=b", child_when=data, read_when=meta, wakes=False),
    }
    assert made(manages=(Manages(Thing, when=data),)).shapes == {
        Thing.KIND: KindShape(child_when=data)
    }


def watch(**options: Any) -> Watch:
    """Build a watch of Secrets."""
    return Watch(kinds.SECRET, to=lambda _: [], **options)


@pytest.mark.parametrize(
    ("watches", "shape"),
    [
        ((watch(),), KindShape()),
        ((watch(namespaces=("x",), selector="a=b"),), KindShape(("x",), "a=b")),
        ((watch(namespaces=("x",)), watch(namespaces=("y", "x"))), KindShape(("x", "y"))),
        ((watch(namespaces=("x",)), watch(selector="a=b")), KindShape()),
    ],
    ids=["wide", "narrow", "both", "one of them wide"],
)
def test_a_kind_that_is_only_watched_is_as_narrow_as_its_watches(
    watches: tuple[Watch, ...], shape: KindShape
) -> None:
    """A kind that is read as well is cached as its entry in reads says."""
    assert made(watches=watches).shapes[kinds.SECRET] == shape
    wide = made(watches=watches, reads=(Reads(kinds.SECRET, everywhere=True),))
    assert wide.shapes[kinds.SECRET] == KindShape()
    far = made(watches=(watch(remote="far"),))
    assert far.shapes == {Thing.KIND: KindShape()}


@pytest.mark.parametrize(
    "reads",
    [
        (kinds.SECRET,),
        kinds.SECRET,
        (Reads(kinds.SECRET),),
        (Reads(kinds.SECRET, fields=("data",)),),
    ],
)
def test_all_secrets_of_a_cluster_are_not_cached_by_accident(reads: Any) -> None:
    """The error lists the ways to read some of them, or none, or all."""
    with pytest.raises(DefinitionError, match="every Secret of the cluster") as raised:
        made(reads=reads)
    for way in ("cached=False", "selector=", "metadata_only=True", "everywhere=True"):
        assert way in str(raised.value)


@pytest.mark.parametrize(
    "members",
    [
        {"reads": (Reads(kinds.SECRET, cached=False),)},
        {"reads": (Reads(kinds.SECRET, selector="a=b"),)},
        {"reads": (Reads(kinds.SECRET, field_selector="metadata.name=a"),)},
        {"reads": (Reads(kinds.SECRET, namespaces=("x",)),)},
        {"reads": (Reads(kinds.SECRET, metadata_only=True),)},
        {"reads": (Reads(kinds.SECRET, everywhere=True),)},
        {"reads": (kinds.SECRET,), "options": ControllerOptions(namespaces=("x",))},
        {"reads": (kinds.SECRET,), "manages": (kinds.SECRET,)},
    ],
)
def test_some_secrets_may_be_cached(members: dict[str, Any]) -> None:
    """Those that a controller manages are cached with all others, because owner references have no selector."""
    assert kinds.SECRET in made(**members).shapes


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"reads": (Reads(kinds.POD, fields=TEXT),)}, "fields='text', which is not a tuple"),
        (
            {"manages": (Manages(kinds.POD, namespaces=TEXT),)},
            "namespaces='text', which is not a tuple",
        ),
        ({"manages": (Manages(kinds.NODE, namespaces=("x",)),)}, "the kind is cluster-scoped"),
        ({"reads": (Reads(kinds.POD, when=max),)}, "which is not a predicate"),  # type: ignore[arg-type]
        ({"reads": (Reads(kinds.POD, selector="a=("),)}, "unable to parse the selector"),
        ({"reads": (Reads(kinds.POD, field_selector="=="),)}, "unable to parse the selector"),
        ({"reads": (Reads(kinds.POD, cached=False, selector="a=b"),)}, "cached=False and selector"),
        (
            {"reads": (Reads(kinds.POD, metadata_only=True, fields=("a",)),)},
            "metadata_only=True and fields",
        ),
        ({"reads": (kinds.POD, Reads(kinds.POD, wakes=False))}, "lists Pod twice"),
        (
            {"reads": (Reads(kinds.POD, selector="a=b"),), "manages": (kinds.POD,)},
            "has selector, but",
        ),
        ({"reads": (Reads(Thing, fields=("spec",)),)}, "has fields, but"),
        ({"manages": (Manages(Thing, selector="a=b"),)}, "has selector, but"),
        (
            {"reads": (Reads(kinds.SECRET, cached=False),), "watches": (watch(),)},
            "a Watch of the kind needs the cache",
        ),
        (
            {"reads": (Reads(kinds.POD, cached=False),), "indexes": {kinds.POD: {}}},
            "which is not cached",
        ),
    ],
)
def test_d2_shapes_that_cannot_be_are_refused(members: dict[str, Any], said: str) -> None:
    """The error has the fix."""
    with pytest.raises(DefinitionError) as raised:
        made(**members)
    assert said in str(raised.value)
    assert "fix: " in str(raised.value)


def test_entries_of_the_wrong_class_are_refused() -> None:
    """Reads in manages, Manages in reads, and a predicate that is not a predicate."""
    with pytest.raises(ManagedKindError):
        made(manages=(Reads(kinds.POD),))
    with pytest.raises(ManagedKindError):
        made(reads=(Manages(kinds.POD),))
    with pytest.raises(DefinitionError, match=r"when is .*\n  fix: use a predicate"):
        ControllerOptions(when=max)  # type: ignore[arg-type]
    assert isinstance(ControllerOptions(when=generation_changed).when, Predicate)

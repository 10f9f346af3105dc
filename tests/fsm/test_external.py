"""Definitions of ``External``: what is missing is refused at import, with the fix."""

from collections.abc import Callable
from datetime import timedelta
from types import new_class
from typing import Any

import pytest

from myrmidon.api import ExternalStatus, Model, Resource, Status
from myrmidon.errors import DefinitionError, ExternalRefusedError, UndeclaredExternalError
from myrmidon.fsm import Controller, Done, External, Result, state
from myrmidon.fsm.external.resource import late_defaults
from myrmidon.sets import OutputSet
from myrmidon.testing import run
from tests.fsm.things import Thing


class BoxSpec(Model):
    """What a user asks for."""

    size: int = 1


class Box(Resource[BoxSpec, ExternalStatus], group="example.com", version="v1"):
    """A box."""


class BoxStatus(Status):
    """A status without a ledger."""


class Bare(Resource[BoxSpec, BoxStatus], group="example.com", version="v1"):
    """A resource without a ledger."""


async def call(self: Any, *_: Any) -> Any:
    """A method of an External that does nothing."""


CALLS: dict[str, Any] = {"observe": call, "create": call, "delete": call}


def external(called: str = "Bad", base: Any = External[Box, Any], **members: Any) -> Any:
    """Define an External with these methods."""
    return new_class(called, (base,), exec_body=lambda namespace: namespace.update(members))


class Store(External[Box, str]):
    """An External that has all required methods."""

    async def observe(self, obj: Box, id: str) -> str | None:  # noqa: A002
        """Read it."""

    async def create(self, obj: Box, token: str) -> str:
        """Make it."""
        return token

    async def delete(self, obj: Box, id: str, observed: str) -> None:  # noqa: A002
        """Delete it."""


class Boxes(Controller[Box]):
    """A controller with an External."""

    externals = (Store,)

    @state(initial=True, condition="Made")
    def made(self, box: Box, out: OutputSet) -> Result:
        """It is made."""
        return Done()

    @state(finalizer=True, condition="Gone")
    def gone(self, box: Box, out: OutputSet) -> Result:
        """It is gone."""
        return Done()


def test_what_a_definition_knows() -> None:
    """The resource, the name of its ledger entry, and which optional methods are defined."""
    assert (Store.resource, Store.name) == (Box, "store")
    assert (Store.can_find, Store.updates) == (False, False)
    more = external("More", Store, find=call, update=call, differs=lambda *_: True)
    assert (more.name, more.can_find, more.updates) == ("store", True, True)
    assert Boxes.externals == (Store,)


@pytest.mark.parametrize(
    ("define", "problem", "fix"),
    [
        (
            lambda: external(base=External, **CALLS),
            "Bad does not say to which resource it belongs",
            "write `class Bad(External[YourResource, WhatObserveReturns])`",
        ),
        (
            lambda: external(base=External[Thing, Any], **CALLS),
            "Bad belongs to Thing, whose status has no room for its ledger",
            "write `class ThingStatus(ExternalStatus)`",
        ),
        (
            lambda: external(observe=call, delete=call),
            "Bad does not define create",
            "add `async def create(self, ...)`",
        ),
        (
            lambda: external(update=call, **CALLS),
            "Bad defines update, but not differs",
            "define both, or neither",
        ),
        (
            lambda: external(differs=call, **CALLS),
            "Bad defines differs, but not update",
            "define both, or neither",
        ),
        (
            lambda: new_class("Odd", (Boxes,), {}, lambda ns: ns.update(externals=Store())),
            "which is not a subclass of External",
            "list the classes, not their instances",
        ),
        (
            lambda: new_class("Odd", (Boxes,), {}, lambda ns: ns.update(gone=None)),
            "Odd has externals, but no finalizer state: Store would be left behind",
            "add a state with finalizer=True that returns `await ctx.remove(...)`",
        ),
        (
            lambda: new_class("Odd", (Controller[Thing],), {}, _other),
            "Odd.externals lists Store, which belongs to Box, but Odd controls Thing",
            "write `class Store(External[Thing, ...])`",
        ),
    ],
)
def test_what_is_missing_is_refused(define: Callable[[], Any], problem: str, fix: str) -> None:
    """The error is raised at import and names what is missing."""
    with pytest.raises(DefinitionError) as error:
        define()
    assert problem in str(error.value)
    assert f"  fix: {fix}" in str(error.value)


def _other(namespace: dict[str, Any]) -> None:
    namespace.update(externals=[Store], made=state(initial=True, condition="Made")(_made))


def _made(self: Any, obj: Any, out: OutputSet) -> Result:
    """Nothing."""
    return Done()


def test_a_plain_status_is_refused_with_the_class_to_write() -> None:
    """The class does not exist yet, so it is named after the resource."""

    class Plain(Resource[BoxSpec, Status], group="example.com", version="v1"):
        """A resource with a plain status."""

    with pytest.raises(DefinitionError, match="class PlainStatus"):
        external(base=External[Plain, Any], **CALLS)


def test_a_base_class_may_be_incomplete() -> None:
    """With ``abstract=True``."""
    base = new_class("Base", (External[Box, Any],), {"abstract": True})
    done = external("Done", base, **CALLS)
    assert done.resource is Box


def test_the_defaults_do_nothing_or_say_so() -> None:
    """Optional methods are not called unless they are defined."""
    bare = new_class("Base", (External[Box, Any],), {"abstract": True})()
    assert bare.differs(None, None) is False
    assert bare.late_init(None, None) is None
    for method, arguments in (
        ("observe", 2), ("create", 2), ("delete", 3), ("find", 2), ("update", 3),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            run(getattr(bare, method)(*[None] * arguments))


@pytest.mark.parametrize(
    ("spec", "chosen", "unset"),
    [
        (None, {"zone": "a"}, {"zone": "a"}),
        ({"zone": "b"}, {"zone": "a"}, {}),
        ({"zone": None}, {"zone": "a"}, {"zone": "a"}),
        ({"zone": ""}, {"zone": "a"}, {}),
        ({}, {"zone": None}, {}),
        ({"net": {"mtu": 1}}, {"net": {"mtu": 2, "ip": "x"}}, {"net": {"ip": "x"}}),
        ({"net": {"mtu": 1}}, {"net": {"mtu": 2}}, {}),
        ({"net": "host"}, {"net": {"mtu": 2}}, {}),
        ({}, {"net": {"mtu": 2}}, {"net": {"mtu": 2}}),
    ],
)
def test_late_values_only_fill_gaps(spec: Any, chosen: Any, unset: Any) -> None:
    """A field that is set is never part of the patch."""
    assert late_defaults(spec, chosen) == unset


def test_a_refusal_says_whether_to_try_again() -> None:
    """By default it is not retried before the object changes."""
    refused = ExternalRefusedError("TooLarge", "at most 100 GiB")
    assert (refused.reason, str(refused)) == ("TooLarge", "at most 100 GiB")
    assert (refused.retry, refused.after) == (False, None)
    assert ExternalRefusedError("Busy", "", retry=True).retry
    assert ExternalRefusedError("Busy", "", after=timedelta(1)).after == timedelta(1)


def test_an_external_that_is_not_declared_is_named() -> None:
    """The error names the External, the state that used it, and the fix."""
    wrong = UndeclaredExternalError("Boxes", "made", "Store")
    assert wrong.reason == "UndeclaredExternal"
    assert str(wrong) == (
        "Boxes.made used Store, which Boxes.externals does not list.\n"
        "  fix: add the class to externals"
    )

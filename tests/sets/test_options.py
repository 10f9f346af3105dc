"""Options that exclude each other are refused where they are written."""

from dataclasses import fields
from typing import Any, cast, get_type_hints

import pytest

from myrmidon.errors import OutputError
from myrmidon.sets import ApplyOptions
from myrmidon.sets.outputs.options import DEFAULT, ApplyOptionsDict, chosen


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"as_update": True, "server_side": True},
            "an output cannot have both as_update and server_side: one replaces the whole object, the other only its own fields.\n  fix: drop as_update or server_side",
        ),
        (
            {"as_update": True, "create_only": True},
            "an output cannot have both as_update and create_only: one rewrites the object, the other never touches it again.\n  fix: drop as_update or create_only",
        ),
        (
            {"create_only": True, "server_side": True},
            "an output cannot have both create_only and server_side: an object that is never changed needs no field ownership.\n  fix: drop create_only or server_side",
        ),
        (
            {"create_only": True, "recreate": True},
            "an output cannot have both create_only and recreate: an object that is never changed is never created again.\n  fix: drop create_only or recreate",
        ),
        (
            {"create_only": True, "optimistic_lock": True},
            "an output cannot have both create_only and optimistic_lock: an object that is never changed needs no lock.\n  fix: drop create_only or optimistic_lock",
        ),
        (
            {"recreate": True, "optimistic_lock": True},
            "an output cannot have both recreate and optimistic_lock: a new object has a new resourceVersion.\n  fix: drop recreate or optimistic_lock",
        ),
        (
            {"subresource": "scale"},
            "subresource is 'scale', which cannot be applied.\n  fix: use \"status\", or out.scale(...) for the number of replicas, or out.patch(..., subresource=...)",
        ),
        (
            {"subresource": "status", "create_only": True},
            "create_only has no effect with subresource='status'.\n  fix: drop create_only",
        ),
        (
            {"force": True},
            "force has an effect only with server_side=True.\n  fix: add server_side=True, or drop force",
        ),
        (
            {"field_validation": "strict"},
            "field_validation is 'strict', which the API server does not know.\n  fix: use one of 'Strict', 'Warn', 'Ignore'",
        ),
        (
            {"field_manager": "me"},
            "field_manager has an effect only with server_side=True.\n  fix: add server_side=True, or drop field_manager",
        ),
        (
            {"owner": {}, "owner_refs": False},
            "an output cannot have both owner and owner_refs=False.\n  fix: drop owner_refs=False to set the owner reference, or drop owner",
        ),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_senseless_combinations_are_refused(options: dict[str, Any], text: str) -> None:
    """The message names both options and the fix."""
    with pytest.raises(OutputError) as caught:
        ApplyOptions(**options)

    assert str(caught.value) == text


def test_the_defaults_ask_for_nothing() -> None:
    """The defaults and sensible combinations are accepted."""
    assert ApplyOptions().owner_refs
    assert ApplyOptions(server_side=True, force=True, field_manager="me").force
    assert ApplyOptions(as_update=True, optimistic_lock=True).as_update


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("owner_ref", "did you mean owner_refs?"),
        (
            "x",
            "use one of optimistic_lock, as_update, server_side, field_manager, force, owner_refs",
        ),
    ],
)
def test_an_option_that_is_none_is_refused(name: str, fix: str) -> None:
    """It is a mistake of the controller, so it is not retried."""
    with pytest.raises(OutputError) as caught:
        chosen(cast("Any", {name: True}))

    assert str(caught.value).startswith(f"there is no option {name!r} for an output.\n  fix: {fix}")
    assert chosen({}) is DEFAULT
    assert chosen({"force": True, "server_side": True}).force


def test_type_checkers_see_the_same_options() -> None:
    """The keyword arguments of ``out.apply`` are the fields of ``ApplyOptions``, in order."""
    types = get_type_hints(ApplyOptions)

    assert get_type_hints(ApplyOptionsDict) == {
        one.name: types[one.name] for one in fields(ApplyOptions)
    }
    assert list(get_type_hints(ApplyOptionsDict)) == [one.name for one in fields(ApplyOptions)]

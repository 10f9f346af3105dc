"""The reconcile token of an object, and its acknowledgement."""

from typing import Any

import pytest

from myrmidon.fsm.metadata.reconcile_request import REQUESTED_AT, is_handled, revision_of, token_of


@pytest.mark.parametrize(
    ("annotations", "token"),
    [({REQUESTED_AT: "now"}, "now"), ({}, ""), (None, ""), ({REQUESTED_AT: 5}, "")],
)
def test_the_token_is_an_annotation(annotations: Any, token: str) -> None:
    """Without one, or with one that is not text, it is empty."""
    obj = {"metadata": {"annotations": annotations, "generation": 3}}
    assert token_of(obj) == token
    assert revision_of(obj) == (3, token)


@pytest.mark.law("G2")
def test_it_is_handled_when_the_status_repeats_it() -> None:
    """Exactly."""
    obj = {"metadata": {}, "status": {"lastHandledReconcileAt": "now"}}
    assert is_handled(obj, "now")
    assert not is_handled(obj, "later")
    assert not is_handled({"metadata": {}}, "now")

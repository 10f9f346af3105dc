"""Which refused changes recreate the object, decided by the causes that the server lists."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.requests.request import Verb
from myrmidon.errors import InvalidError
from myrmidon.sets import plan_recreate
from tests.sets.outputs import PARENT, SPECS, WAYS, apply, manifest

THERE = manifest({}, uid="u")


def refused(field: str, reason: str = "FieldValueInvalid", message: str = "no") -> InvalidError:
    """Build the response of the server to a change that it does not allow."""
    cause = {"field": field, "reason": reason, "message": message}
    return InvalidError(422, "Invalid", message, details={"causes": [cause]})


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("spec.selector", "FieldValueInvalid"),
        ("spec", "FieldValueForbidden"),
        ("spec.clusterIPs[0]", "FieldValueInvalid"),
        ("spec[0]", "FieldValueForbidden"),
        ("<nil>", "FieldValueInvalid"),
        ("spec.size", "FieldValueRequired"),
        ("spec.size", "FieldValueDuplicate"),
    ],
)
@given(message=st.text(max_size=20))
def test_a_refused_field_of_the_output_is_tried_as_a_new_object(
    field: str, reason: str, message: str
) -> None:
    """The text of the message does not matter: a transition rule has its author's words."""
    output = apply(manifest({"a": 1}), recreate=True)
    found = plan_recreate(output, THERE, PARENT, refused(field, reason, message))

    assert found is not None
    assert found.trial.verb is Verb.CREATE
    assert found.trial.body["spec"] == {"a": 1}
    assert ("dryRun", "All") in found.trial.query
    assert found.removal.verb is Verb.DELETE
    assert found.removal.body["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    "refusal",
    [
        refused("metadata.labels"),
        refused("metadata"),
        refused("patch", message='strict decoding error: unknown field "spec.a"'),
        refused("data.key"),
        refused("spec.size", "FieldValueNotSupported"),
        refused("spec.size", "FieldValueTypeInvalid"),
        InvalidError(422, "Invalid", "the field is immutable"),
    ],
)
def test_other_refusals_do_not_recreate_the_object(refusal: InvalidError) -> None:
    """Metadata, undeclared fields, wrong types, a response without causes."""
    output = apply(manifest({"a": 1}), recreate=True)
    assert plan_recreate(output, THERE, PARENT, refusal) is None


@given(spec=SPECS, way=st.sampled_from(sorted(WAYS)))
def test_the_trial_is_always_a_create(spec: Any, way: str) -> None:
    """This holds for every way to write; without the option nothing is tried."""
    output = apply(manifest(spec), recreate=True, **WAYS[way])
    found = plan_recreate(output, THERE, PARENT, refused("spec"))
    assert found is not None
    assert found.trial.verb is Verb.CREATE
    assert "resourceVersion" not in found.trial.body["metadata"]
    assert plan_recreate(apply(manifest(spec)), THERE, PARENT, refused("spec")) is None


def test_a_terminating_object_is_not_deleted_again() -> None:
    """Its deletion is under way already."""
    going = manifest({}, deletionTimestamp="2026-01-01T00:00:00Z")
    assert plan_recreate(apply(manifest({}), recreate=True), going, PARENT, refused("spec")) is None

"""Who wrote an object, from its managedFields."""

from typing import Any

import pytest

from myrmidon.api.objects.managed_fields import conditions_of, field_manager, wrote


@pytest.mark.parametrize("metadata", [None, {}, {"managedFields": None}, {"managedFields": [{}]}])
def test_an_object_without_managers_was_written_by_no_controller(metadata: Any) -> None:
    """A cache keeps no managedFields."""
    assert not wrote({"metadata": metadata}, "shop")


def test_writing_the_status_does_not_make_the_object_ours() -> None:
    """Every controller of a kind writes a status."""
    status = {"manager": "shop", "operation": "Update", "subresource": "status"}
    assert not wrote({"metadata": {"managedFields": [status]}}, "shop")
    own = {"manager": "shop", "operation": "Update"}
    assert wrote({"metadata": {"managedFields": [status, own]}}, "shop")
    assert not wrote({"metadata": {"managedFields": [status, own]}}, "other")


def test_a_long_name_is_cut_to_what_the_server_takes() -> None:
    """It is recognised in its short form, too."""
    name = "n" * 200
    assert len(field_manager(name)) == 128
    assert wrote({"metadata": {"managedFields": [{"manager": "n" * 128}]}}, name)


def fields(**conditions: Any) -> Any:
    """Return the fields of a status entry."""
    return {"f:status": {"f:conditions": {".": {}, **conditions}}}


READY: Any = {'k:{"type":"Ready"}': {".": {}, "f:type": {}, "f:status": {}}}


@pytest.mark.parametrize(
    ("found", "types"),
    [
        (fields(**READY), {"Ready"}),
        (fields(**{'k:{"type":"Ready"}': {"f:message": {}}}), set()),  # changed, not created
        (fields(**{'k:{"name":"Ready"}': {"f:type": {}}}), set()),
        (fields(**{"k:{broken": {"f:type": {}}, "k:[1]": {"f:type": {}}}), set()),
        (fields(**{"v:1": {"f:type": {}}, "k:{}": None}), set()),
        ({"f:status": {"f:conditions": {}}}, set()),  # an atomic list
        ({"f:status": {}}, set()),
        ({"f:status": None}, set()),
        (None, set()),
    ],
)
def test_c12_the_conditions_that_a_controller_created(found: Any, types: set[str]) -> None:
    """As the server records them; another manager's do not count."""
    ours = {"manager": "shop", "subresource": "status", "fieldsV1": found}
    theirs = {"manager": "scan", "fieldsV1": fields(**{'k:{"type":"Scanned"}': {"f:type": {}}})}
    obj = {"metadata": {"managedFields": [theirs, ours]}}
    assert conditions_of(obj, "shop") == types

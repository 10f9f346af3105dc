"""Which fields a full update would remove, and which only the server has added."""

import pytest
from hypothesis import given

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.patch.server_filled import exceeds
from tests.strategies import WIDGET, documents


@given(spec=documents())
def test_an_object_does_not_exceed_itself(spec: Json) -> None:
    """With the server's metadata and a status of any content."""
    declared: Json = {"metadata": {"name": "a"}, "spec": spec}
    current: Json = {
        "apiVersion": "v1",
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "finalizers": ["x"]},
        "spec": spec,
        "status": {"anything": True},
    }

    assert not exceeds(current, declared, WIDGET)


@given(spec=documents(), more=documents())
def test_a7_undeclared_fields_are_seen(spec: Json, more: Json) -> None:
    """Any undeclared field, down to an empty map."""
    current = {"spec": {**more, **spec}}

    assert exceeds(current, {"spec": spec}, WIDGET) == any(
        more[key] is not None for key in more.keys() - spec.keys()
    )


@pytest.mark.parametrize(
    ("current", "declared"),
    [
        ({"replicas": 1}, {}),
        ({"strategy": {"type": "RollingUpdate"}}, {}),
        ({"template": {"spec": {"containers": [{"name": "a", "imagePullPolicy": "Always"}]}}},
         {"template": {"spec": {"containers": [{"name": "a"}]}}}),
    ],
)  # fmt: skip
def test_a3_defaults_of_built_in_kinds_are_not_an_excess(current: Json, declared: Json) -> None:
    """The server would fill them in again."""
    assert not exceeds({"spec": current}, {"spec": declared}, kinds.DEPLOYMENT)
    assert exceeds({"spec": current}, {"spec": declared}, WIDGET)


def test_a7_a_default_that_was_changed_is_an_excess() -> None:
    """A field that is left out stands for its default."""
    assert exceeds({"spec": {"replicas": 3}}, {"spec": {}}, kinds.DEPLOYMENT)
    assert exceeds({"metadata": {"labels": {"a": "b"}}}, {"metadata": {}}, kinds.DEPLOYMENT)
    revision = {"annotations": {"deployment.kubernetes.io/revision": "3"}}
    assert not exceeds({"metadata": revision}, {"metadata": {}}, kinds.DEPLOYMENT)
    assert exceeds({"metadata": revision}, {"metadata": {}}, kinds.REPLICA_SET)

"""Fingerprints of declarations."""

from typing import Any

from hypothesis import given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.sets import plan
from myrmidon.sets.fingerprints import fingerprint
from tests.sets.model_server import ModelServer
from tests.sets.outputs import PARENT, SPECS, apply, manifest, ref_of
from tests.strategies import documents


@given(left=documents(), right=documents())
def test_a5_equal_content_has_one_fingerprint(left: Json, right: Json) -> None:
    """Other content has another one; content is compared as JSON."""

    def as_floats(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_floats(item) for key, item in reversed(value.items())}
        if isinstance(value, list):
            return [as_floats(item) for item in value]
        return float(value) if type(value) is int else value

    assert (fingerprint(left) == fingerprint(right)) == same(left, right)
    assert fingerprint(left) == fingerprint(as_floats(left))


@given(spec=SPECS, foreign=SPECS)
def test_a7_a_foreign_field_is_seen_beside_unknown_defaults(spec: Json, foreign: Json) -> None:
    """A full update of a custom kind is sent again for another writer's field, not for defaults."""
    server, ref = ModelServer(), ref_of()
    output = apply(manifest({"list": [{"a": 1}], "spec": spec}), as_update=True)
    server.send(plan(output, None, PARENT))
    assert plan(output, server.get(ref), PARENT) is None

    server.put(ref, {**server.objects[ref], "theirs": foreign})
    server.send(plan(output, server.get(ref), PARENT))

    assert "theirs" not in server.objects[ref]
    assert plan(output, server.get(ref), PARENT) is None


def test_a2_an_update_that_changed_nothing_is_not_sent_for_ever() -> None:
    """The object existed with the same content and defaults, created by another writer."""
    server, ref = ModelServer(), ref_of()
    server.put(ref, manifest({"list": [{"a": 1}]}))
    output = apply(manifest({"list": [{"a": 1}]}), as_update=True)

    server.send(plan(output, server.get(ref), PARENT))
    server.send(plan(output, server.get(ref), PARENT))

    assert plan(output, server.get(ref), PARENT) is None


def test_each_state_has_an_annotation_of_its_own() -> None:
    """Two states never share one annotation; long names keep within 63 characters."""
    long = "C" * 40 + "." + "s" * 40
    for author in ("", "Things.made", long):
        output = apply(manifest({"list": [{"a": 1}]}))
        request = plan(
            type(output)(output.ref, output.manifest, output.options, author), None, PARENT
        )
        assert request is not None
        ((key, _),) = request.body["metadata"]["annotations"].items()
        prefix, _, name = key.partition("/")
        assert prefix == "applied.myrmidon.dev"
        assert len(name) <= 63
        assert name.startswith(author[:40] or "output")

"""remove_undeclared: fields that we declared before are removed, those of others stay."""

from copy import deepcopy
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.errors import ConflictError, ManagersUnknownError, OutputError
from myrmidon.patch import merge
from myrmidon.sets import Apply, ApplyOptions, OutputSet, plan
from myrmidon.sets.outputs.outputs import OutputDefaults
from myrmidon.sets.ownership.undeclared import DECLARED
from tests.sets.outputs import PARENT, apply, manifest
from tests.strategies import WIDGET

Field: TypeAlias = tuple[str, ...]
FIELDS: tuple[Field, ...] = (
    ("spec", "a"), ("spec", "b"), ("spec", "m", "x"), ("spec", "m", "y"), ("spec", "n", "k", "p"),
    ("metadata", "labels", "l"), ("metadata", "labels", "k"), ("metadata", "annotations", "n"),
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.sampled_from(["1", "2", "3"])
LEAVES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)
EDITS = st.dictionaries(st.sampled_from(FIELDS), VALUES | st.none(), max_size=3)
STEPS = st.lists(st.tuples(st.booleans(), LEAVES, EDITS), max_size=8)
KEY = f"{DECLARED}/Things.made"


def tree(leaves: dict[Field, Any]) -> Json:
    """Nested maps with these leaves."""
    made: Json = {"spec": {}, "metadata": {}}
    for field, value in leaves.items():
        place = made
        for name in field[:-1]:
            place = place.setdefault(name, {})
        place[field[-1]] = value
    return made


def leaves(obj: Json) -> dict[Field, Any]:
    """Return the fields of the test that an object has."""
    found = {}
    for field in FIELDS:
        place: Any = obj
        for name in field:
            place = place.get(name) if isinstance(place, dict) else None
        if place is not None:
            found[field] = place
    return found


class Managed:
    """One object, with the managers of its fields as the server records them."""

    def __init__(self) -> None:
        self.obj: Json | None = None
        self.owners: dict[Field, str] = {}
        self.writes = 0

    def write(self, manager: str, obj: Json) -> None:
        """Store the object; a field belongs to the manager that changed it last."""
        before = leaves(self.obj or {})
        after = leaves(obj)
        self.owners = {
            field: self.owners[field] if before.get(field) == value else manager
            for field, value in after.items()
        }
        self.writes += 1
        self.obj = deepcopy(obj)
        self.obj["metadata"] |= {"uid": "u", "resourceVersion": str(self.writes)}

    def patch(self, manager: str, body: Json) -> None:
        """Apply a merge patch; a wrong version is a conflict."""
        assert self.obj is not None
        version = body["metadata"].get("resourceVersion")
        if version not in {None, self.obj["metadata"]["resourceVersion"]}:
            raise ConflictError(409, "Conflict", "changed")
        self.write(manager, merge(self.obj, body))

    def read(self) -> Json | None:
        """Return the object with its managedFields."""
        if self.obj is None:
            return None
        entries: dict[str, Json] = {}
        for field, owner in self.owners.items():
            place = entries.setdefault(owner, {})
            for name in field:
                place = place.setdefault(f"f:{name}", {})
        listed = [{"manager": name, "fieldsV1": fields} for name, fields in entries.items()]
        return {**self.obj, "metadata": {**self.obj["metadata"], "managedFields": listed}}


def output(declared: dict[Field, Any]) -> Apply:
    """Return the output that our state declares."""
    made = tree(declared)
    return apply(manifest(made["spec"], **made["metadata"]), remove_undeclared=True)


def converge(server: Managed, wanted: Apply) -> None:
    """Plan and send until nothing is left to send; the cache has no managedFields."""
    for _ in range(2):
        try:
            request = plan(wanted, deepcopy(server.obj), PARENT)
        except ManagersUnknownError:
            request = plan(wanted, server.read(), PARENT)
        if request is None:
            return
        if server.obj is None:
            server.write("Things", request.body)
        else:
            server.patch("Things", request.body)
    assert plan(wanted, deepcopy(server.obj), PARENT) is None, "one write is enough"


@given(steps=STEPS)
def test_nothing_of_ours_is_left_over_and_nothing_of_theirs_is_removed(steps: Any) -> None:
    """In any history, the object has their fields and those that we declare."""
    server, theirs = Managed(), dict[Field, Any]()
    for ours_next, declared, edits in [(True, {}, {}), *steps]:
        if ours_next:
            converge(server, output(declared))
            # A field that we declare with the value that they gave it stays theirs.
            theirs = {
                field: value
                for field, value in theirs.items()
                if declared.get(field, value) == value
            }
            assert server.obj is not None
            assert leaves(server.obj) == {**theirs, **declared}
        else:
            assert server.obj is not None
            before = leaves(server.obj)
            server.patch("they", tree(edits))
            for field, value in edits.items():
                if value is None:
                    theirs.pop(field, None)
                elif before.get(field) != value:
                    theirs[field] = value


def test_a_map_is_removed_with_its_last_field() -> None:
    """An empty map would be left over; maps with fields of others keep those."""
    server = Managed()
    converge(server, output({("spec", "n", "k", "p"): "1", ("spec", "m", "x"): "1"}))
    server.patch("they", tree({("spec", "m", "y"): "2"}))
    converge(server, output({("spec", "a"): "1"}))

    assert server.obj is not None
    assert server.obj["spec"] == {"a": "1", "m": {"y": "2"}}


def test_two_states_of_one_controller_keep_their_fields() -> None:
    """They have the same field manager, but each has its own record."""
    server, other = (
        Managed(),
        OutputSet((WIDGET,), namespace="default", controller="Things", state="x"),
    )
    other.apply(manifest({"m": {"y": "1"}}), remove_undeclared=True)
    converge(server, output({("spec", "m", "x"): "1", ("spec", "m", "y"): "1"}))
    converge(server, other.applied()[0])
    converge(server, output({("spec", "a"): "1"}))

    assert server.obj is not None
    assert server.obj["spec"] == {"a": "1", "m": {"y": "1"}}


def test_a_record_that_cannot_be_read_removes_nothing() -> None:
    """Another writer changed the annotation; it is written again."""
    for spoilt in ("{", "[]", "0"):
        server = Managed()
        converge(server, output({("spec", "a"): "1"}))
        server.patch("they", {"metadata": {"annotations": {KEY: spoilt}}})
        converge(server, output({("spec", "b"): "1"}))

        assert server.obj is not None
        assert leaves(server.obj) == {("spec", "a"): "1", ("spec", "b"): "1"}
        assert annotations_of(server.obj)[KEY] == '{"metadata":{},"spec":{"b":0}}'


def test_a_value_that_another_writer_made_a_map_stays() -> None:
    """We declared a plain value there, and now it has fields of others."""
    server = Managed()
    converge(server, output({("spec", "m"): "1"}))
    server.patch("they", {"spec": {"m": {"x": "2"}}, "metadata": {}})
    converge(server, output({("spec", "a"): "1"}))

    assert server.obj is not None
    assert server.obj["spec"]["m"] == {"x": "2"}


def test_a_value_that_another_state_holds_as_a_whole_stays() -> None:
    """Its record has a leaf where ours has a map."""
    server = Managed()
    converge(server, output({("spec", "m", "x"): "1"}))
    server.patch(
        "Things", {"metadata": {"annotations": {f"{DECLARED}/Things.x": '{"spec":{"m":0}}'}}}
    )
    converge(server, output({("spec", "a"): "1"}))

    assert server.obj is not None
    assert server.obj["spec"] == {"a": "1", "m": {"x": "1"}}


def test_an_atomic_value_belongs_to_its_manager_as_a_whole() -> None:
    """The server records no fields inside it."""
    server = Managed()
    converge(server, output({("spec", "m", "x"): "1"}))
    read = server.read()
    assert read is not None
    read["metadata"]["managedFields"] = [{"manager": "Things", "fieldsV1": {"f:spec": {"f:m": {}}}}]
    request = plan(output({}), read, PARENT)

    assert request is not None
    assert request.body["spec"] == {"m": None}
    assert request.body["metadata"]["resourceVersion"] == "1"


def test_a_record_has_a_limit() -> None:
    """For more fields the error advises server-side apply."""
    with pytest.raises(OutputError, match="declares too many fields") as caught:
        plan(
            apply(manifest({f"field-{i}": 1 for i in range(2000)}), remove_undeclared=True),
            None,
            PARENT,
        )
    assert "server_side=True" in str(caught.value)


def test_a_controller_can_remove_for_all_its_outputs() -> None:
    """An output that says otherwise, or that is written in another way, keeps its options."""
    defaults = OutputDefaults({}, remove_undeclared=True)
    out = OutputSet((WIDGET,), namespace="default", defaults=defaults)

    def options(**given: Any) -> ApplyOptions:
        out.apply(manifest({}), **given)
        return out.applied()[0].options

    assert options().remove_undeclared
    assert options(adopt=True) == ApplyOptions(adopt=True, remove_undeclared=True)
    assert options(remove_undeclared=False).remove_undeclared is False
    for name in ("as_update", "server_side", "create_only"):
        other: dict[str, Any] = {name: True}
        assert options(**other) == ApplyOptions(**other)

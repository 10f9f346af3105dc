"""Releasing a child, and selecting children by labels."""

from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json, owners_of
from myrmidon.errors import ConflictError
from myrmidon.sets import Apply, Delete, Release, plan
from myrmidon.sets.outputs.outputs import DeleteAll
from myrmidon.sets.ownership.selection import selected
from tests.sets.model_server import ModelServer
from tests.sets.outputs import FOREIGN, OTHER, OURS, PARENT, apply, manifest, ref_of
from tests.strategies import WIDGET


@pytest.mark.parametrize("options", [{}, {"owner_refs": False}], ids=["owned", "tracked"])
def test_a_released_child_names_no_parent(options: Any) -> None:
    """References of other owners stay, and a second plan sends nothing."""
    server, ref = ModelServer(), ref_of()
    output: Apply = apply(manifest({"a": 1}), **options)
    server.send(plan(output, None, PARENT))
    there = server.get(ref)
    assert there is not None
    owners = [OTHER, *owners_of(there)]
    server.put(ref, {**there, "metadata": {**there["metadata"], "ownerReferences": owners}})

    server.send(plan(Release(ref), server.get(ref), PARENT))

    left = server.get(ref)
    assert left is not None
    assert owners_of(left) == [OTHER]
    assert not left["metadata"].get("labels")
    assert plan(Release(ref), left, PARENT) is None
    assert plan(Release(ref), None, PARENT) is None


def _obj(name: str, *owners: Json) -> Json:
    return {**manifest({}), "metadata": {"name": name, "namespace": "default",
                                         "ownerReferences": list(owners)}}  # fmt: skip


@pytest.mark.parametrize(("adopt", "names"), [(False, ["ours"]), (True, ["ours", "loose"])])
def test_only_children_are_selected(adopt: bool, names: list[str]) -> None:
    """With adopt also objects without a parent; never outputs of the state or the parent itself."""
    matching = [_obj("ours", OURS), _obj("loose"), _obj("theirs", FOREIGN), _obj("child", OURS)]
    rule = DeleteAll(WIDGET, "", "default", "Orphan", adopt, "Things.made")

    found = list(selected(rule, matching, PARENT, [ref_of()]))

    assert [delete.ref.name for delete in found] == names
    assert found[0] == Delete(found[0].ref, "Orphan", adopt, "Things.made")


def test_o1_an_owner_added_since_the_read_is_not_lost() -> None:
    """The list of owners is replaced as a whole, so a stale request is a conflict."""
    server, ref = ModelServer(), ref_of()
    server.send(plan(apply(manifest({"a": 1})), None, PARENT))
    request = plan(Release(ref), server.get(ref), PARENT)
    there = server.get(ref)
    assert there is not None
    owners = [*owners_of(there), OTHER]
    server.put(ref, {**there, "metadata": {**there["metadata"], "ownerReferences": owners}})

    with pytest.raises(ConflictError):
        server.send(request)
    server.send(plan(Release(ref), server.get(ref), PARENT))
    assert owners_of(server.objects[ref]) == [OTHER]

"""A12: pruning of children that a controller managed and no longer emits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.errors import PruneRefusedError
from myrmidon.sets import Delete
from myrmidon.sets.ownership.pruning import prunable
from tests.strategies import refs

FORGOTTEN = ObjectRef(Kind("example.com", "v1", "Old", ""), "x", "default")


@given(recorded=st.lists(refs(), unique=True), emitted=st.lists(refs()), limit=st.integers(1, 4))
def test_a12_children_that_are_no_longer_emitted_are_deleted_up_to_the_guard(
    recorded: list[ObjectRef], emitted: list[ObjectRef], limit: int
) -> None:
    """Never an emitted child, never more at once than the guard allows, never an unknown kind."""
    gone = [ref for ref in recorded if ref not in emitted]
    if len(gone) > limit:
        with pytest.raises(PruneRefusedError, match=f"but at most {limit} are pruned at once"):
            prunable([*recorded, FORGOTTEN], emitted, limit=limit)
    else:
        deletes = prunable([*recorded, FORGOTTEN], emitted, limit=limit)
        assert deletes == [Delete(ref) for ref in gone]

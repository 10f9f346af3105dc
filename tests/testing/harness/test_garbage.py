"""Garbage collection during many runs."""

import gc
import weakref

from myrmidon.testing.harness.garbage import rare_collections


class Node:
    """An object that can refer to itself."""

    me: "Node"


def test_the_collector_is_as_before_afterwards() -> None:
    """Also if the block raises."""
    before = gc.get_threshold(), gc.get_freeze_count()
    try:
        with rare_collections():
            assert gc.get_threshold()[0] > before[0][0]
            assert gc.get_freeze_count() > 0
            raise LookupError  # noqa: TRY301 - the end of the block
    except LookupError:
        pass
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_cycles_made_inside_are_still_collected() -> None:
    """Only objects that existed before are left out."""
    with rare_collections():
        node = Node()
        node.me = node
        alive = weakref.ref(node)
        del node
        gc.collect()
        assert alive() is None

"""Pruning: which children an earlier pass recorded and the current one no longer emits."""

from collections.abc import Iterable

from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import PruneRefusedError
from myrmidon.sets.outputs.outputs import Delete


def prunable(
    recorded: Iterable[ObjectRef], emitted: Iterable[ObjectRef], *, limit: int
) -> list[Delete]:
    """Return Deletes for the children that were recorded and that this pass did not emit.

    Call it only after a walk that reached an end: a walk that stopped early has not emitted all of
    its outputs.  Raises ``PruneRefusedError`` for more than ``limit`` children.
    """
    kept = dict.fromkeys(emitted)
    # The plural is unknown for a kind that the controller no longer declares, and may not delete.
    gone = [ref for ref in recorded if ref not in kept and ref.kind.plural]
    if len(gone) > limit:
        raise PruneRefusedError([str(ref) for ref in gone], limit)
    return [Delete(ref) for ref in gone]

"""Which objects a parent managed and no longer wants."""

from collections.abc import Iterable

from myrmidon.api.refs import ObjectRef
from myrmidon.errors import PruneRefusedError
from myrmidon.sets.output_set import Delete


def prunable(
    recorded: Iterable[ObjectRef], emitted: Iterable[ObjectRef], *, limit: int
) -> list[Delete]:
    """Deletes for what was recorded and not emitted by a walk that came to an end.

    An interrupted walk has not said everything, so it must not be asked.
    """
    kept = dict.fromkeys(emitted)
    # A kind without a plural is one that the controller no longer declares and may not touch.
    gone = [ref for ref in recorded if ref not in kept and ref.kind.plural]
    if len(gone) > limit:
        raise PruneRefusedError([str(ref) for ref in gone], limit)
    return [Delete(ref) for ref in gone]

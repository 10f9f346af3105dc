"""Which objects a parent managed and no longer wants."""

from collections.abc import Iterable

from myrmidon.api.refs import ObjectRef
from myrmidon.errors import MyrmidonError
from myrmidon.sets.output_set import Delete


class PruneRefusedError(MyrmidonError):
    """More objects would go at once than the guard allows; a bug is likelier than an intention."""

    def __init__(self, refs: Iterable[ObjectRef], limit: int) -> None:
        self.refs = tuple(refs)
        shown = ", ".join(map(str, self.refs[:3]))
        super().__init__(
            f"{len(self.refs)} objects are no longer emitted ({shown}, ...), but at most {limit} "
            "are pruned at once.\n"
            "  fix: delete them by hand, or raise ControllerOptions.prune_max"
        )


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
        raise PruneRefusedError(gone, limit)
    return [Delete(ref) for ref in gone]

"""Selection: the objects that ``out.delete_all`` stands for."""

from collections.abc import Iterable, Iterator

from myrmidon.api.objects.accessors import Json, controller_of, labels_of, ref_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.sets.outputs.outputs import Delete, DeleteAll
from myrmidon.sets.ownership.adoption import is_child_of
from myrmidon.sets.ownership.owner_references import PARENT_UID, Parent


def selected(
    rule: DeleteAll, matching: Iterable[Json], parent: Parent, named: Iterable[ObjectRef]
) -> Iterator[Delete]:
    """Yield a Delete for each matching object that may be deleted.

    Objects of another parent may not; objects without a parent only with ``adopt``.  Neither may an
    object in ``named``, for which the state has another output.
    """
    kept = dict.fromkeys((*named, parent.ref))
    for obj in matching:
        ref = ref_of(rule.kind, obj)
        if ref in kept:
            continue
        names_none = controller_of(obj) is None and PARENT_UID not in labels_of(obj)
        if is_child_of(obj, parent) or (rule.adopt and names_none):
            yield Delete(ref, rule.propagation, rule.adopt, rule.author)

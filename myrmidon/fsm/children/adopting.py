"""adopt_by_selector: children are the objects whose labels match, as for a ReplicaSet.

Adoption is a decision of the author (law O6), so it is a call and not a default.  Objects that match
and name no parent become children; children of that kind that no longer match are released: they
stay, without an owner.  Objects of other parents are left alone.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from myrmidon.api.objects.accessors import (
    Json,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    version_of,
)
from myrmidon.api.requests.selectors import selector as parsed_selector
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.ownership.adoption import is_child_of
from myrmidon.sets.ownership.owner_references import PARENT_UID, Parent


def adopt_by_selector(
    obj: Any, objects: Iterable[Any], selector: Mapping[str, str] | str, out: OutputSet
) -> list[Any]:
    """Adopt the objects that match and release the children that do not; return all that match.

    - ``obj``: the object of the pass.
    - ``objects``: all objects of one kind that could match, from ``ctx.list``.  All children of
      that kind are governed by the selector.
    - ``selector``: labels, or a label selector as kubectl takes it.

    The returned objects are, or become, children.  An object that is gone by the time of the write
    is not created again: each adoption carries the resourceVersion that was read.
    """
    parent, wanted = Parent(obj.ref, obj.uid), parsed_selector(selector)
    matching = []
    for found in objects:
        raw: Json = getattr(found, "raw", found)
        ours = is_child_of(raw, parent)
        if is_deleting(raw) or not (ours or _names_none(raw)):
            continue
        if wanted.matches(labels_of(raw)):
            matching.append(found)
            out.apply(_identity(raw), adopt=True, optimistic_lock=True)
        elif ours:
            out.release(_identity(raw))
    return matching


def _names_none(raw: Json) -> bool:
    return controller_of(raw) is None and PARENT_UID not in labels_of(raw)


def _identity(raw: Json) -> Json:
    meta = {"name": name_of(raw), "resourceVersion": version_of(raw)}
    if namespace_of(raw):
        meta["namespace"] = namespace_of(raw)
    return {"apiVersion": raw.get("apiVersion"), "kind": raw.get("kind"), "metadata": meta}

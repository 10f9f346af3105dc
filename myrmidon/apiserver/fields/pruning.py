"""Remove the fields that a manager no longer applies and no other manager owns."""

from collections.abc import Mapping

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields.entries import FieldManager, Owned
from myrmidon.apiserver.fields.fieldset import Node, difference, intersection, union
from myrmidon.apiserver.fields.owning import claimed
from myrmidon.apiserver.fields.removing import with_named_fields, without
from myrmidon.apiserver.fields.shapes import Shape
from myrmidon.apiserver.fields.versions import Versions


def pruned(
    merged: Json, owners: Mapping[FieldManager, Owned], last: Owned | None, versions: Versions
) -> Json:
    """Return the merged object without the fields of ``last`` that no manager owns now.

    In three steps: remove everything that was applied last time; restore what any manager owns, the
    new configuration included; restore what was never applied and disappeared with its parent.
    """
    if last is None or not _dropped(last, owners):
        return merged
    shape = versions.shape(last.api_version)
    if shape is None:
        return merged
    at_last = versions.convert_to(merged, last.api_version)
    rest = without(at_last, with_named_fields(last.fields, shape), shape) or {}
    rest = _with_owned(at_last, rest, last.api_version, owners, versions)
    rest = versions.convert_to(rest, last.api_version)
    gone = difference(_named(at_last, shape), _named(rest, shape))
    applied = with_named_fields(last.fields, shape)
    kept: Json = without(at_last, intersection(gone, applied), shape) or {}
    return versions.convert_to(kept, versions.api_version)


def _dropped(last: Owned, owners: Mapping[FieldManager, Owned]) -> bool:
    """Whether a field that was applied last time may have lost its only owner."""
    return bool(last.fields) and not any(
        owned.api_version == last.api_version and not difference(last.fields, owned.fields)
        for owned in owners.values()
    )


def _with_owned(
    merged: Json,
    rest: Json,
    first: str,
    owners: Mapping[FieldManager, Owned],
    versions: Versions,
) -> Json:
    """Return what is left of the object, with the fields that any manager owns restored."""
    owned_at: dict[str, Node] = {first: {}}
    for owned in owners.values():
        owned_at[owned.api_version] = union(owned_at.get(owned.api_version, {}), owned.fields)
    for api_version, owned_fields in owned_at.items():
        shape = versions.shape(api_version)
        if shape is None:
            continue
        whole = versions.convert_to(merged, api_version)
        rest = versions.convert_to(rest, api_version)
        stays = union(_named(rest, shape), with_named_fields(owned_fields, shape))
        rest = without(whole, difference(_named(whole, shape), stays), shape) or {}
    return rest


def _named(obj: Json, shape: Shape) -> Node:
    return with_named_fields(claimed(obj, shape), shape)

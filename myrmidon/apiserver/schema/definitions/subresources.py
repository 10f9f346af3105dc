"""Validation of the status and scale subresources."""

from typing import Any

from myrmidon.apiserver.refusals import causes
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.definitions.columns import check_simple_path


def check_subresources(subresources: Any, path: str) -> list[StatusCause]:
    """Return the errors in the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    found: list[StatusCause] = []
    for field, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        where, given = f"{path}.scale.{field}", scale.get(field) or ""
        if not given:
            found.append(causes.required(where))
        else:
            found += _check_below(given, where, (root,), root)
    selector = scale.get("labelSelectorPath") or ""
    if selector:
        where = f"{path}.scale.labelSelectorPath"
        found += _check_below(selector, where, (".spec", ".status"), "either .spec or .status")
    return found


def _check_below(given: str, path: str, roots: tuple[str, ...], shown: str) -> list[StatusCause]:
    found = check_simple_path(given, path)
    if not found and not given.startswith(tuple(f"{root}." for root in roots)):
        found.append(causes.invalid(path, given, f"should be a json path under {shown}"))
    return found

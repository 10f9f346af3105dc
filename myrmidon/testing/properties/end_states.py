"""The end of a test run: the objects of a controller without what differs between any two runs.

Left out are uids, resourceVersions, generations, managedFields and times; the status of managed objects,
which other controllers write; the addresses and ports that the server allocates to Services; and objects
that other controllers made, such as the ReplicaSets of a Deployment.  ``ignore`` leaves out further
fields, by path: ``"metadata.annotations.revision"``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from myrmidon.api.objects.accessors import Json, uid_of
from myrmidon.api.objects.refs import Kind
from myrmidon.fsm.controller import Controller
from myrmidon.patch.diff import difference
from myrmidon.testing.harness.harness import Harness

_UNLIKE = {
    "uid", "resourceVersion", "generation", "observedGeneration", "creationTimestamp", "managedFields", "selfLink",
}  # fmt: skip
_UNORDERED = ("conditions", "resourceRefs", "ownerReferences", "finalizers")
_ALLOCATED = {"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"}
_REVISION = "deployment.kubernetes.io/revision"
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)")


def end_state(
    cluster: Harness, controller: Controller[Any], ignore: Sequence[str]
) -> dict[str, Json]:
    """Return the objects that the controller is responsible for, without what always differs."""
    kinds = [controller.kind(), *controller.managed_kinds]
    known = {(kind.api_version, kind.kind): kind for kind in kinds}
    own = controller.kind()
    stored = cluster.stored()
    uids = {uid_of(obj): f"<uid of {obj['kind']} {obj['metadata']['name']}>" for obj in stored}
    found: dict[str, Json] = {}
    for obj in stored:
        kind = known.get((obj["apiVersion"], obj["kind"]))
        if kind is None or _is_made_by_others(obj, known):
            continue
        metadata = obj["metadata"]
        key = f"{kind} {metadata.get('namespace', '')}/{metadata['name']}"
        found[key] = comparable(obj, is_own=kind == own, ignore=ignore, uids=uids)
    return found


def _is_made_by_others(obj: Json, known: Mapping[tuple[str, str], Kind]) -> bool:
    owners = obj["metadata"].get("ownerReferences", ())
    return any(
        owner.get("controller") and (owner["apiVersion"], owner["kind"]) not in known
        for owner in owners
    )


def comparable(
    obj: Json,
    *,
    is_own: bool,
    ignore: Sequence[str] = (),
    uids: Mapping[str, str] = MappingProxyType({}),
) -> Json:
    """Return an object without the fields that differ between two runs with the same specs.

    ``uids`` names the uids that stand in texts, such as the label with the uid of a parent.
    """
    metadata = _quiet(obj["metadata"])
    annotations = dict(metadata.pop("annotations", {}))
    annotations.pop(_REVISION, None)
    if annotations:
        metadata["annotations"] = {key: _record(text) for key, text in annotations.items()}
    made = {**obj, "metadata": metadata}
    if obj["kind"] == "Service":
        made["spec"] = _without(obj.get("spec", {}), _ALLOCATED)
    if is_own and "status" in made:
        # A list that became empty is equal to one that was never written.
        made["status"] = {key: each for key, each in _quiet(made["status"]).items() if each != []}
    elif not is_own:
        made.pop("status", None)
    text = json.dumps(made)
    copy: Json = json.loads(_UID.sub(lambda uid: uids.get(uid[0], uid[0]), text))
    for path in ignore:
        _remove(copy, path)
    return copy


def _record(text: str) -> Any:
    """Return an annotation; one that holds JSON, such as conditions, without what differs in it."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return _quiet(json.loads(text))
    except ValueError:
        return text


def _quiet(value: Any) -> Any:
    """Return the value without uids, versions and times; lists without an order are sorted."""
    match value:
        case dict():
            return {
                key: _ordered(key, _quiet(item))
                for key, item in value.items()
                if key not in _UNLIKE
            }
        case list():
            return [_quiet(item) for item in value]
        case str() if _TIME.fullmatch(value):
            return "<time>"
        case _:
            return value


def _ordered(key: str, value: Any) -> Any:
    if key not in _UNORDERED or not isinstance(value, list):
        return value
    return sorted(value, key=lambda item: json.dumps(item, sort_keys=True))


def _without(value: Any, keys: set[str]) -> Any:
    match value:
        case dict():
            return {key: _without(item, keys) for key, item in value.items() if key not in keys}
        case list():
            return [_without(item, keys) for item in value]
        case _:
            return value


def _remove(obj: Any, path: str) -> None:
    step, _, rest = path.partition(".")
    if not isinstance(obj, dict) or step not in obj:
        return
    if rest:
        _remove(obj[step], rest)
    else:
        del obj[step]


def differences(expected: Mapping[str, Json], ended: Mapping[str, Json]) -> list[str]:
    """Return a line for each object or field in which two ends differ."""
    lines: list[str] = []
    for key in sorted({*expected, *ended}):
        if key not in expected:
            lines.append(f"  {key} is left over")
        elif key not in ended:
            lines.append(f"  {key} is missing")
        elif found := difference(expected[key], ended[key]):
            lines += [f"  {key}", *(f"      {line}" for line in found)]
    return lines

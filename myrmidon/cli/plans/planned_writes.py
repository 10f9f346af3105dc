"""The writes of a planned pass in words: a new object as YAML, a change field by field.

The values of a Secret are never shown.  As in ``kubectl diff``, each is ``***``; a value that changes
is ``*** (before)`` and ``*** (after)``, so that the change is visible without what it is about.
"""

from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.generate import to_yaml
from myrmidon.patch.diff import difference
from myrmidon.runtime.observability.snapshot import ObjectView, path_text
from myrmidon.sets.ownership.undeclared import DECLARED
from myrmidon.sets.planning import APPLIED
from myrmidon.testing import Exchange

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SAID = ("apiVersion", "kind")
_NOISE = (
    "name", "namespace", "ownerReferences", "managedFields", "resourceVersion", "generation", "uid",
    "creationTimestamp",
)  # fmt: skip
_FRAMEWORK = ("conditions", "observedGeneration", "resourceRefs")
_SECRET_PARTS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # holds the values once more
_MASK, _MASK_BEFORE, _MASK_AFTER = "***", "*** (before)", "*** (after)"


def story(ref: ObjectRef, views: list[ObjectView]) -> str:
    """Return the path of the pass in words, and what it waits for or fails with."""
    if not views or not views[0].path:
        return f"{ref}\n  no state would run\n"
    one = views[0]
    lines = [str(ref), f"  path:  {path_text(one.path)}"]
    if one.waiting is not None:
        said = "fails" if one.waiting.failed else "waits"
        lines.append(f"  {said}: {one.waiting.reason}, {one.waiting.message}")
    elif one.is_ready:
        lines.append("  Ready")
    return "\n".join(lines) + "\n"


def told_write(one: Exchange, before: Json | None) -> str:
    """One write: a new object as YAML, a change field by field."""
    verb, answer = _VERBS[one.request.method], one.answer
    if one.status >= 400:
        return f"{verb} {one.path}\n  refused: {answer.get('message')}\n"
    if verb == "delete":
        return f"delete {one.path}\n"
    meta = answer["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    if one.path.endswith("/scale"):
        return (
            f"scale {one.path.rsplit('/', 2)[-2]}\n  spec.replicas: {answer['spec']['replicas']}\n"
        )
    part = " status" if one.path.endswith("/status") else ""
    head = f"{verb} {answer['kind']} {where}{meta['name']}{part}"
    if before is None:
        said = quiet(masked(None, {**_typed(answer), **one.body})[1]).items()
        body = {key: value for key, value in said if key not in _SAID and value != {}}
        lines = [f"+ {line}" for line in to_yaml(body).splitlines()] if body else []
    else:
        was, now = masked(before, answer)
        lines = difference(quiet(was or {}), quiet(now)) or [
            "(what the framework notes for itself)"
        ]
    return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"


def _typed(answer: Json) -> Json:
    """Return apiVersion and kind of the answer; the body of a patch need not have them."""
    return {key: answer[key] for key in _SAID}


def quiet(obj: Json) -> Json:
    """An object without what the framework or the server adds to every write."""
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _NOISE}
    notes = meta.pop("annotations", None) or {}
    kept = {key: value for key, value in notes.items() if not key.startswith((APPLIED, DECLARED))}
    if kept:
        meta["annotations"] = kept
    return {**obj, "metadata": meta, "status": told_status(obj.get("status") or {})}


def told_status(status: Json) -> Json:
    """A status in words: each condition by its name."""
    told = {key: value for key, value in status.items() if key not in _FRAMEWORK}
    for condition in status.get("conditions") or ():
        told[str(condition.get("type"))] = f"{condition.get('status')} ({condition.get('reason')})"
    return told


def masked(before: Json | None, after: Json) -> tuple[Json | None, Json]:
    """Return the two versions of an object without the values of a Secret; others unchanged."""
    if (after.get("apiVersion"), after.get("kind")) != (kinds.SECRET.api_version, "Secret"):
        return before, after
    old, new = dict(before or {}), dict(after)
    for part in _SECRET_PARTS:
        was, now = _values(old, part), _values(new, part)
        for key in was.keys() | now.keys():
            changes = key in was and key in now and was[key] != now[key]
            if key in was:
                was[key] = _MASK_BEFORE if changes else _MASK
            if key in now:
                now[key] = _MASK_AFTER if changes else _MASK
        old |= {part: was} if was else {}
        new |= {part: now} if now else {}
    return (None if before is None else _without_copy(old)), _without_copy(new)


def _values(secret: Json, part: str) -> dict[str, Any]:
    found = secret.get(part)
    return dict(found) if isinstance(found, dict) else {}


def _without_copy(secret: Json) -> Json:
    """Return the Secret without the annotation in which kubectl keeps its values."""
    meta = dict(secret.get("metadata") or {})
    notes = {
        key: value for key, value in (meta.get("annotations") or {}).items() if key != _LAST_APPLIED
    }
    return {**secret, "metadata": {**meta, "annotations": notes}}

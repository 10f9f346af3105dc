"""Faults of definitions and of stored objects: malformed objects, and definitions that change or vanish.

malformed     an object that was stored under another schema: every field of its spec has the wrong
              type.  It is written to the store past validation, and removed when faults are over.
crd absent    the kind is not served for a while: its watches end, requests get 404
crd change    the definition gets another optional field; the server ends the watches of the kind
crd drop      the definition is deleted with all objects of the kind; afterwards the definition and
              the objects that the user still wants are created again
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.definitions import CRDS
from myrmidon.apiserver.resources.registry import ResourceType
from myrmidon.testing.simulation.actions import Action
from myrmidon.testing.simulation.meddling import MERGE
from myrmidon.testing.simulation.stage import Stage

MALFORMED = "malformed"
"""The name of the malformed object."""
_UID = "00000000-0000-4000-8000-00000000bad0"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GONE_SECONDS = 300.0
_FIELD = "simulatedField"


def store_malformed(run: Stage, index: int, action: Action) -> None:
    """Store a malformed sibling of the first object of a kind."""
    found = run.world.type_of(action.target)
    samples = run.world.list(action.target)
    if not samples or run.world.exists(action.target, MALFORMED):
        return
    sample = samples[0]
    kept = ("namespace", "creationTimestamp", "generation")
    meta = {key: sample["metadata"][key] for key in kept if key in sample["metadata"]}
    spec = {key: {"wrong": ["type"]} for key in sample.get("spec") or {"size": 0}}
    value: Json = {
        "apiVersion": found.kind.api_version, "kind": found.kind.kind, "spec": spec,
        "metadata": {**meta, "name": MALFORMED, "uid": _UID},
    }  # fmt: skip
    key = found.key(meta.get("namespace", ""), MALFORMED)
    run.server.store.put(found.stored_as, key, value)
    run.director.mark(index)
    run.healing.after(0.0, lambda: _remove(run, found, key))
    run.server.settle()


def _remove(run: Stage, found: ResourceType, key: str) -> None:
    if run.server.store.get(found.stored_as, key) is not None:
        run.server.store.remove(found.stored_as, key)
        run.server.settle()


def change_definition(run: Stage, index: int, action: Action) -> None:
    """Let the definition of a kind be absent, change, or be deleted and created again."""
    name = run.world.type_of(action.target).stored_as
    record = run.server.store.get(CRDS, name)
    if record is None:
        return  # a built-in kind
    run.director.mark(index)
    if action.how == "absent":
        _be_absent(run, action)
    elif action.how == "change":
        _end_watches(run, action.target)
        run.meddle("PATCH", f"{_DEFINITIONS}/{name}", _with_field(record.value), MERGE)
    else:
        run.spawn(_created_anew(run, name, record.value, action))


def _be_absent(run: Stage, action: Action) -> None:
    until = run.loop.time() + action.lasts
    for process in run.players:
        process.refuse(until, action.target, "", lambda: None, code=404)
    _end_watches(run, action.target)


def _end_watches(run: Stage, kind: str) -> None:
    now = run.loop.time()
    for process in run.players:
        process.interruptions.cut(kind, now, now)
        process.view(kind).wake()


def _with_field(definition: Json) -> Json:
    """Return a patch that adds an optional field to the spec in every version."""
    versions = []
    for version in definition["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        spec = schema.get("properties", {}).get("spec", {"type": "object"})
        fields = {**spec.get("properties", {}), _FIELD: {"type": "string"}}
        schema = {
            **schema,
            "properties": {**schema.get("properties", {}), "spec": {**spec, "properties": fields}},
        }
        versions.append({**version, "schema": {"openAPIV3Schema": schema}})
    return {"spec": {"versions": versions}}


async def _created_anew(run: Stage, name: str, definition: Json, action: Action) -> None:
    """Delete a definition, wait until its objects and it are gone, and create both again."""
    async with run.actor.locked:
        run.meddle("DELETE", f"{_DEFINITIONS}/{name}")
        ends_at = run.loop.time() + _GONE_SECONDS
        while run.server.store.get(CRDS, name) is not None and run.loop.time() < ends_at:
            await run.clock.sleep(1.0)
        _end_watches(run, action.target)
        await run.clock.sleep(action.lasts)
        body = {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name}, "spec": definition["spec"],
        }  # fmt: skip
        run.meddle("POST", _DEFINITIONS, body)
        await run.actor.restore(action.target)

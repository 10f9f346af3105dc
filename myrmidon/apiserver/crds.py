"""CustomResourceDefinitions: from a stored definition to served resources, and back to nothing.

A definition is answered before its names are accepted: acceptance, establishment and clean-up are
follow-up work of an actor that runs after the answer, as they are in the real server.
"""

from copy import deepcopy
from datetime import datetime
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects import Json, finalizers_of, is_deleting
from myrmidon.api.refs import Kind
from myrmidon.apiserver.custom import CustomStrategy
from myrmidon.apiserver.encoding import same
from myrmidon.apiserver.metadata import decode_metadata
from myrmidon.apiserver.registry import ResourceType, ScalePaths
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.types import Schema
from myrmidon.apiserver.seams import timestamp
from myrmidon.apiserver.store import Change
from myrmidon.apiserver.strategy import Decoded, Strategy

if TYPE_CHECKING:
    from myrmidon.apiserver.call import Core
    from myrmidon.apiserver.server import ApiServer

CRD_KIND = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


# ------------------------------------------------------------------------- conditions


def condition(status: Json, wanted: str) -> Json | None:
    """One condition of a status."""
    return next((each for each in status.get("conditions") or () if each["type"] == wanted), None)


def is_true(status: Json, wanted: str) -> bool:
    """Whether a condition is there and true."""
    found = condition(status, wanted)
    return found is not None and found["status"] == "True"


def with_condition(
    status: Json, now: str, kind: str, value: str, reason: str, message: str
) -> Json:
    """The status with a condition set; its time moves only when its value does."""
    old = condition(status, kind)
    since = old["lastTransitionTime"] if old and old["status"] == value else now
    new = {
        "type": kind,
        "status": value,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    listed = list(status.get("conditions") or ())
    if old is None:
        listed.append(new)
    else:
        listed[listed.index(old)] = new
    return {**status, "conditions": listed}


# ------------------------------------------------------------------------- the definition


class DefinitionStrategy(Strategy):
    """How definitions themselves are written."""

    allows_unconditional_update = False
    answers_deleted_object = True

    def decode(self, body: Json) -> Decoded:
        """Typed metadata."""
        meta, unknown = decode_metadata(body.get("metadata"))
        return Decoded(
            {**body, "apiVersion": CRD_KIND.api_version, "kind": CRD_KIND.kind, "metadata": meta},
            unknown,
        )

    def default(self, obj: Json) -> None:
        """Names and conversion that were left out."""
        spec = obj.get("spec") or {}
        names = spec.get("names") or {}
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, obj: Json) -> None:
        """No conditions yet; the storage version counts as stored."""
        obj["metadata"]["generation"] = 1
        stored = [
            version["name"]
            for version in obj.get("spec", {}).get("versions", ())
            if version.get("storage")
        ]
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        }

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Status and spec are written through different paths."""
        if subresource == "status":
            status = obj.get("status")
            obj["spec"] = old["spec"]
            obj["status"] = status
            return
        obj["status"] = deepcopy(old.get("status"))
        generation = old["metadata"].get("generation", 0)
        if not same(obj.get("spec"), old.get("spec")):
            generation += 1
        obj["metadata"]["generation"] = generation
        status = obj["status"]
        for version in obj.get("spec", {}).get("versions", ()):
            if version.get("storage") and version["name"] not in status.get("storedVersions", ()):
                status["storedVersions"] = [*status.get("storedVersions", ()), version["name"]]

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """The objects go first: a finalizer holds the definition until they have."""
        meta = obj["metadata"]
        if CLEANUP not in meta.get("finalizers", ()):
            meta["finalizers"] = [*meta.get("finalizers", ()), CLEANUP]
        obj["status"] = with_condition(
            obj.get("status") or {},
            timestamp,
            "Terminating",
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        )


# ------------------------------------------------------------------------- serving


def _path(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part)


def served_types(definition: Json) -> list[ResourceType]:
    """The resource types that a definition asks for."""
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    storage = next(version for version in spec["versions"] if version.get("storage"))
    storage_schema = _schema(storage)
    return [
        _served_type(spec, names, version, storage, storage_schema)
        for version in spec["versions"]
        if version.get("served")
    ]


def _served_type(
    spec: Json, names: Json, version: Json, storage: Json, storage_schema: Schema
) -> ResourceType:
    kind = Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        spec["scope"] == "Namespaced",
    )
    subresources = version.get("subresources") or {}
    schema = storage_schema if version is storage else _schema(version)
    strategy = CustomStrategy(
        api_version=kind.api_version,
        kind=kind.kind,
        schema=schema,
        storage_api_version=f"{spec['group']}/{storage['name']}",
        storage_schema=storage_schema,
        status=subresources.get("status") is not None,
        selectable={
            field["jsonPath"].removeprefix("."): _path(field["jsonPath"])
            for field in version.get("selectableFields") or ()
        },
    )
    return ResourceType(
        kind,
        strategy,
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        list_kind=names.get("listKind", ""),
        status=subresources.get("status") is not None,
        scale=_scale(subresources.get("scale")),
        schema=schema,
        storage_version=storage["name"],
        custom=True,
        deprecation=_deprecation(spec, names, version),
    )


def _schema(version: Json) -> Schema:
    return compile_schema((version.get("schema") or {}).get("openAPIV3Schema") or {})


def _scale(paths: Json | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        _path(paths["specReplicasPath"]),
        _path(paths["statusReplicasPath"]),
        _path(paths.get("labelSelectorPath") or ""),
    )


def _deprecation(spec: Json, names: Json, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    given: str = version.get("deprecationWarning") or ""
    return given or f"{spec['group']}/{version['name']} {names['kind']} is deprecated"


# ------------------------------------------------------------------------- lifecycle


class DefinitionLifecycle:
    """Accepts names, establishes, serves; and cleans up after a deletion."""

    def __init__(self) -> None:
        self._dirty: dict[str, None] = {}

    def observe(self, change: Change) -> None:
        """Remember the definitions that changed."""
        if change.resource == CRDS:
            self._dirty[change.record.key] = None

    def act(self, server: "ApiServer") -> bool:
        """Bring what is served in line with the definitions that changed."""
        names = list(self._dirty)
        self._dirty.clear()
        wrote = False
        for name in names:
            wrote |= _bring_up(server.core, name)
        return wrote

    def due(self) -> datetime | None:
        """Never: it only follows changes."""
        return None


def _bring_up(core: "Core", name: str) -> bool:
    record = core.store.get(CRDS, name)
    plural, _, group = name.partition(".")
    if record is None:
        core.registry.install((), group=group, plural=plural)
        return False
    definition = record.value
    if is_deleting(definition):
        return _clean_up(core, name, definition)
    status = _named(core, definition)
    if not same(status, definition["status"]):
        core.store.put(
            CRDS, name, {**definition, "status": status, "metadata": dict(definition["metadata"])}
        )
    if is_true(status, "Established"):
        core.registry.install(
            served_types({**definition, "status": status}), group=group, plural=plural
        )
    return not same(status, definition["status"])


def _named(core: "Core", definition: Json) -> Json:
    """The status with the names accepted, or with the reason why not."""
    status: Json = definition.get("status") or {}
    now = timestamp(core.seams.now())
    wanted = definition["spec"]["names"]
    problem = _name_conflict(core, definition)
    if problem:
        status = with_condition(status, now, "NamesAccepted", "False", problem[0], problem[1])
        if not is_true(status, "Established"):
            status = with_condition(
                status, now, "Established", "False", "NotAccepted", "not all names are accepted"
            )
        return status
    status = {**status, "acceptedNames": wanted}
    status = with_condition(
        status, now, "NamesAccepted", "True", "NoConflicts", "no conflicts found"
    )
    return with_condition(
        status,
        now,
        "Established",
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )


def _name_conflict(core: "Core", definition: Json) -> tuple[str, str] | None:
    """Whether another definition of the group has one of the names."""
    spec = definition["spec"]
    resources: set[str] = set()
    kinds: set[str] = set()
    for record in core.store.scan(CRDS):
        other = record.value
        if (
            other["spec"]["group"] != spec["group"]
            or other["metadata"]["name"] == definition["metadata"]["name"]
        ):
            continue
        accepted: dict[str, Any] = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {
            accepted.get("plural", ""),
            accepted.get("singular", ""),
            *(accepted.get("shortNames") or ()),
        }
        kinds |= {accepted.get("kind", ""), accepted.get("listKind", "")}
    names = spec["names"]
    checks = (
        ("plural", "Plural", resources),
        ("singular", "Singular", resources),
        ("kind", "Kind", kinds),
        ("listKind", "ListKind", kinds),
    )
    for field, word, taken in checks:
        if names.get(field) and names[field] in taken:
            return f"{word}Conflict", f'"{names[field]}" is already in use'
    for short in names.get("shortNames") or ():
        if short in resources:
            return "ShortNamesConflict", f'"{short}" is already in use'
    return None


def _clean_up(core: "Core", name: str, definition: Json) -> bool:
    """Delete the objects of a deleted definition, then let it go."""
    if CLEANUP not in finalizers_of(definition):
        return False
    resource = name
    for record in core.store.scan(resource):
        core.store.remove(resource, record.key)
    plural, _, group = name.partition(".")
    core.registry.install((), group=group, plural=plural)
    left = [each for each in finalizers_of(definition) if each != CLEANUP]
    if left:
        meta = {**definition["metadata"], "finalizers": left}
        core.store.put(CRDS, name, {**definition, "metadata": meta})
    else:
        core.store.remove(CRDS, name)
    return True

"""CustomResourceDefinitions: from a stored definition to served resources, and back to nothing.

A definition is answered before its names are accepted: acceptance, establishment and clean-up are
follow-up work of an actor that runs after the answer, as they are in the real server.

What looks into a definition is imported with the first one: every server starts, and few ever see
a definition.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects import Json, finalizers_of, is_deleting
from myrmidon.apiserver.admission import Admission
from myrmidon.apiserver.conditions import is_true, with_condition
from myrmidon.apiserver.encoding import same
from myrmidon.apiserver.failures import Cause, Failure
from myrmidon.apiserver.kinds import KindStrategy
from myrmidon.apiserver.seams import timestamp
from myrmidon.apiserver.store import Change, Record

if TYPE_CHECKING:
    from myrmidon.apiserver.call import Core
    from myrmidon.apiserver.server import ApiServer

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


_PENDING = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_IN_PROGRESS = (
    "Terminating",
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)
_ACCEPTED = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
_ESTABLISHED = (
    "Established",
    "True",
    "InitialNamesAccepted",
    "the initial names have been accepted",
)
_NOT_ESTABLISHED = ("Established", "False", "NotAccepted", "not all names are accepted")


# ------------------------------------------------------------------------- with the first definition


def _problems(definition: Json, old: Json | None) -> list[Cause]:
    from myrmidon.apiserver.schema.definitions import check_definition  # noqa: PLC0415

    return check_definition(definition, old)


def _unrecognized_formats(definition: Json, old: Json | None) -> list[str]:
    from myrmidon.apiserver.schema.definitions import unrecognized_formats  # noqa: PLC0415

    return list(dict.fromkeys(unrecognized_formats(definition, old)))


def _serve(core: "Core", definition: Json) -> None:
    from myrmidon.apiserver.served import served_types  # noqa: PLC0415

    names, group = definition["spec"]["names"], definition["spec"]["group"]
    core.registry.install(served_types(definition), group=group, plural=names["plural"])


# ------------------------------------------------------------------------- the definition


class DefinitionStrategy(KindStrategy):
    """How definitions themselves are written."""

    answers_deleted_object = True

    def default(self, obj: Json) -> None:
        """Names and conversion that were left out."""
        spec = obj["spec"]
        names = spec["names"]
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, obj: Json) -> None:
        """No conditions yet; the storage version counts as stored."""
        super().prepare_create(obj)
        versions = obj["spec"].get("versions") or ()
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [each["name"] for each in versions if each.get("storage")],
        }

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """A new storage version is one more that objects may be stored in."""
        super().prepare_update(obj, old, subresource)
        if subresource:
            return
        status = obj["status"]
        stored = list(status.get("storedVersions") or ())
        for version in obj["spec"].get("versions") or ():
            if version.get("storage") and version["name"] not in stored:
                stored.append(version["name"])
        obj["status"] = {**status, "storedVersions": stored}

    def validate_create(self, obj: Json) -> list[Cause]:
        """Whether resources can be served by it."""
        return _problems(obj, None)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[Cause]:
        """Whether resources can still be served by it."""
        return [] if subresource else _problems(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Formats that nobody checks."""
        named = _unrecognized_formats(obj, old)
        return [*super().warnings(obj, old), *(f'unrecognized format "{name}"' for name in named)]

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """The objects go first: a finalizer holds the definition until they have."""
        meta = obj["metadata"]
        if CLEANUP not in meta.get("finalizers", ()):
            meta["finalizers"] = [*meta.get("finalizers", ()), CLEANUP]
        obj["status"] = with_condition(obj.get("status") or {}, timestamp, _PENDING)


# ------------------------------------------------------------------------- lifecycle


class DefinitionGuard:
    """The admission step that lets nothing new be made of a definition that is going."""

    def admit(self, admission: Admission) -> Json | None:
        """Refuse to create objects that would have to be deleted at once."""
        call = admission.call
        if admission.operation != "CREATE" or not call.type.custom:
            return None
        record = call.core.store.get(CRDS, call.type.stored_as)
        if record is None or not is_deleting(record.value):
            return None
        assert admission.obj is not None, "a creation has an object"
        name = admission.obj["metadata"].get("name", "")
        raise Failure(
            403,
            "Forbidden",
            f'{call.type.resource} "{name}" is forbidden: create not allowed while custom resource '
            "definition is terminating",
            group=call.type.kind.group,
            kind=call.type.kind.plural,
            name=name,
        )

    def check(self, admission: Admission) -> None:
        """Nothing else."""


class DefinitionLifecycle:
    """Accepts names, establishes, serves; and cleans up after a deletion."""

    def __init__(self) -> None:
        self._dirty: dict[str, None] = {}
        self._terminating: set[str] = set()  # definitions that wait for their last objects

    def observe(self, change: Change) -> None:
        """Remember the definitions that changed, and those that wait for an object to go."""
        if change.resource == CRDS:
            self._dirty[change.record.key] = None
            if change.deleted:
                self._terminating.discard(change.record.key)
            elif is_deleting(change.record.value):
                self._terminating.add(change.record.key)
        elif change.deleted and change.resource in self._terminating:
            self._dirty[change.resource] = None

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
        _serve(core, {**definition, "status": status})
    return not same(status, definition["status"])


def _named(core: "Core", definition: Json) -> Json:
    """The status with the names accepted that nobody else has."""
    status: Json = definition.get("status") or {}
    now = timestamp(core.seams.now())
    accepted, problem = _accept(core, definition, status.get("acceptedNames") or {})
    status = {**status, "acceptedNames": accepted}
    if problem is None:
        return with_condition(with_condition(status, now, _ACCEPTED), now, _ESTABLISHED)
    status = with_condition(status, now, ("NamesAccepted", "False", *problem))
    return (
        status if is_true(status, "Established") else with_condition(status, now, _NOT_ESTABLISHED)
    )


def _accept(core: "Core", definition: Json, accepted: Json) -> tuple[Json, tuple[str, str] | None]:
    """The names that are free, and the last conflict of those that are not."""
    resources, kinds = _taken_names(core, definition)
    wanted, accepted = definition["spec"]["names"], dict(accepted)
    problem: tuple[str, str] | None = None
    for field, taken in (
        ("plural", resources),
        ("singular", resources),
        ("shortNames", resources),
        ("kind", kinds),
        ("listKind", kinds),
    ):
        value = wanted.get(field)
        names = value if isinstance(value, list) else [value]
        used = [name for name in names if name and name in taken]
        if used:
            problem = f"{field[0].upper()}{field[1:]}Conflict", f'"{used[0]}" is already in use'
        elif value:
            accepted[field] = value
        else:
            accepted.pop(field, None)
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return accepted, problem


def _taken_names(core: "Core", definition: Json) -> tuple[set[str], set[str]]:
    """The names of resources and of kinds that other definitions of the group have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    own = definition["metadata"]["name"]
    for record in core.store.scan(CRDS):
        other = record.value
        if other["spec"]["group"] != definition["spec"]["group"] or record.key == own:
            continue
        names: dict[str, Any] = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", "")}
        resources |= set(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _delete_instance(core: "Core", resource: str, record: Record, now: str) -> None:
    value = record.value
    if not finalizers_of(value):
        core.store.remove(resource, record.key)
    elif not is_deleting(value):
        meta = {
            **value["metadata"],
            "deletionTimestamp": now,
            "deletionGracePeriodSeconds": 0,
            "generation": value["metadata"].get("generation", 0) + 1,
        }
        core.store.put(resource, record.key, {**value, "metadata": meta})


def _clean_up(core: "Core", name: str, definition: Json) -> bool:
    """Delete the objects of a deleted definition, then let it go."""
    if CLEANUP not in finalizers_of(definition):
        return False
    now = timestamp(core.seams.now())
    status = with_condition(definition["status"], now, _IN_PROGRESS)
    if core.store.scan(name) and not same(status, definition["status"]):
        meta = dict(definition["metadata"])
        core.store.put(CRDS, name, {**definition, "metadata": meta, "status": status})
        return True  # that change brings us here again
    for record in core.store.scan(name):
        _delete_instance(core, name, record, now)
    if core.store.scan(name):
        return False  # finalizers hold some of them
    plural, _, group = name.partition(".")
    core.registry.install((), group=group, plural=plural)
    left = [each for each in finalizers_of(definition) if each != CLEANUP]
    if left:
        meta = {**definition["metadata"], "finalizers": left}
        core.store.put(CRDS, name, {**definition, "metadata": meta})
    else:
        core.store.remove(CRDS, name)
    return True

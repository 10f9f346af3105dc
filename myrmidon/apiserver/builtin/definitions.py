"""The strategy of CustomResourceDefinitions: status, validation, warnings, deletion.

The validation is imported when the first definition is written, because most servers never see one.
"""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.strategy import KindStrategy
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.resources.conditions import with_condition

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_PENDING = (
    "Terminating",
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


class DefinitionStrategy(KindStrategy):
    """The strategy of CustomResourceDefinitions."""

    answers_deleted_object = True

    def prepare_create(self, obj: Json) -> None:
        """Set a status without conditions, with the storage version as the only stored version."""
        super().prepare_create(obj)
        versions = obj["spec"].get("versions") or ()
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": [each["name"] for each in versions if each.get("storage")],
        }

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Add a new storage version to the stored versions."""
        super().prepare_update(obj, old, subresource)
        if subresource:
            return
        status = obj["status"]
        stored = list(status.get("storedVersions") or ())
        for version in obj["spec"].get("versions") or ():
            if version.get("storage") and version["name"] not in stored:
                stored.append(version["name"])
        obj["status"] = {**status, "storedVersions": stored}

    def validate_create(self, obj: Json) -> list[StatusCause]:
        """Return the errors of a new definition."""
        return _problems(obj, None)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[StatusCause]:
        """Return the errors of an update; updates of subresources are not validated."""
        return [] if subresource else _problems(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Return warnings about formats that are not enforced."""
        named = _unrecognized_formats(obj, old)
        return [*super().warnings(obj, old), *(f'unrecognized format "{name}"' for name in named)]

    def mark_deleting(self, obj: Json, timestamp: str) -> None:
        """Add the finalizer that keeps the definition until its objects are deleted."""
        meta = obj["metadata"]
        if CLEANUP not in meta.get("finalizers", ()):
            meta["finalizers"] = [*meta.get("finalizers", ()), CLEANUP]
        obj["status"] = with_condition(obj.get("status") or {}, timestamp, _PENDING)


def _problems(definition: Json, old: Json | None) -> list[StatusCause]:
    from myrmidon.apiserver.schema.definitions import check_definition  # noqa: PLC0415

    return check_definition(definition, old)


def _unrecognized_formats(definition: Json, old: Json | None) -> list[str]:
    from myrmidon.apiserver.schema.definitions import unrecognized_formats  # noqa: PLC0415

    return list(dict.fromkeys(unrecognized_formats(definition, old)))

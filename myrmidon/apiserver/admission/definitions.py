"""Refuse new objects of a CustomResourceDefinition that is being deleted."""

from myrmidon.api.objects.accessors import Json, is_deleting
from myrmidon.apiserver.builtin.definitions import CRDS
from myrmidon.apiserver.call import PendingWrite
from myrmidon.apiserver.failures import Failure


class DefinitionGuard:
    """The admission step that refuses new objects of a definition that is being deleted."""

    def admit(self, admission: PendingWrite) -> Json | None:
        """Refuse a create if the CustomResourceDefinition is terminating."""
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

    def check(self, admission: PendingWrite) -> None:
        """Do nothing."""

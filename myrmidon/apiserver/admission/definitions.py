"""Refuse new objects of a CustomResourceDefinition that is being deleted."""

from myrmidon.api.objects.accessors import Json, is_deleting
from myrmidon.apiserver.builtin.definitions import CRDS
from myrmidon.apiserver.requests.call import PendingWrite


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
        raise admission.forbidden(
            "create not allowed while custom resource definition is terminating"
        )

    def check(self, admission: PendingWrite) -> None:
        """Do nothing."""

"""Who owns which field: the place where writes meet ``managedFields``."""

from myrmidon.api.objects import Json
from myrmidon.apiserver.call import Call


def begin(call: Call, obj: Json) -> None:
    """Give a new object its first entry."""
    obj["metadata"].pop("managedFields", None)


def carry(call: Call, obj: Json, old: Json, subresource: str) -> None:
    """Give a changed object the entries that follow from the change."""
    obj["metadata"].pop("managedFields", None)

"""Update ``metadata.managedFields`` in a create, update or patch (see ``fields`` for the rules)."""

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields import Versions, after_update
from myrmidon.apiserver.fields.checking import check
from myrmidon.apiserver.fields.listing import ShapeError
from myrmidon.apiserver.refusals.failures import Failure
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.schema_node import Schema

_MANAGER_MAX = 128
_STATUS = frozenset({"status"})


def manager_of(call: Call) -> str:
    """Return the field manager: from the query, or the first word of the user agent."""
    if call.field_manager:
        return call.field_manager
    agent = call.request.headers.get("user-agent", "").partition("/")[0]
    return "".join(letter for letter in agent if letter.isprintable())[:_MANAGER_MAX]


def versions_of(call: Call) -> Versions:
    """Return the schemas of all versions of the kind; an entry may refer to any of them."""
    kind, registry = call.type.kind, call.core.registry

    def schema_of(api_version: str) -> Schema | None:
        group, _, version = api_version.rpartition("/")
        found = registry.find(group, version, kind.plural)
        return found.schema if found is not None and group == kind.group else None

    return Versions(kind.api_version, call.type.schema, schema_of, call.type.strategy.convert)


def begin(call: Call, obj: Json) -> None:
    """Set the managedFields of a new object."""
    _track(call, obj, None, "")


def carry(call: Call, obj: Json, old: Json, subresource: str) -> None:
    """Set the managedFields of an updated object."""
    _track(call, obj, old, subresource)


def _track(call: Call, obj: Json, old: Json | None, subresource: str) -> None:
    if call.type.custom and not obj["metadata"].get("managedFields"):
        # For built-in kinds, an empty list removes all entries; for custom resources it is ignored.
        obj["metadata"].pop("managedFields", None)
    strategy = call.type.strategy
    if call.type.custom and not _fits(call, obj, old or {}, subresource):
        set_entries(obj, [])
        return
    try:
        entries = after_update(
            old,
            obj,
            versions_of(call),
            manager=manager_of(call),
            now=call.draws.now,
            subresource=subresource,
            reset=strategy.reset_fields(subresource),
            blank=strategy.blank(),
        )
    except (
        Failure
    ):  # of a conversion to the version of a manager: the real server drops all entries
        entries = []
    set_entries(obj, entries)


def _fits(call: Call, obj: Json, old: Json, subresource: str) -> bool:
    """Whether ownership can be computed: the real server drops all entries of an ill-shaped object.

    Fields that the write may change are validated later.  Fields that it may not change are reset
    and so may have any shape; they are checked here if they differ from the stored object.
    """
    resets = _resets(call, subresource)
    if all(obj.get(key) == old.get(key) for key in obj if key in resets):
        return True
    shape = versions_of(call).shape(call.type.kind.api_version)
    assert shape is not None
    try:
        check(obj, shape)
    except ShapeError:
        return False
    return True


def _resets(call: Call, subresource: str) -> frozenset[str]:
    """Return the top-level fields that a write to this path does not change."""
    if subresource == "status":
        return frozenset(call.type.schema.properties) - {"status", "metadata"}
    return _STATUS if call.type.status else frozenset()


def set_entries(obj: Json, entries: list[Json]) -> None:
    """Set managedFields, or remove the field if there are no entries."""
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)

"""Field ownership through the scale subresource, which shares one field with its object.

A write to the subresource is an update of a Scale object.  Before it, the owners of the object's
replicas become owners of ``spec.replicas`` in the Scale; afterwards the result is copied back.
"""

from collections.abc import Mapping
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.fields import entries
from myrmidon.apiserver.fields.elements import Path
from myrmidon.apiserver.fields.entries import FieldManager, Owned
from myrmidon.apiserver.fields.fieldset import FieldSet

ReplicasPaths: TypeAlias = Mapping[
    str, Path | None
]  # by apiVersion; None: no scale in that version

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = FieldSet.of(("f:spec", "f:replicas"))


def replicas_path(written: str) -> Path:
    """Return the ``specReplicasPath`` of a CustomResourceDefinition as path elements."""
    return tuple(f"f:{name}" for name in written.strip(".").split("."))


def to_scale(parent: list[Json] | None, paths: ReplicasPaths) -> list[Json]:
    """Return the managedFields of the Scale of an object."""
    owners: dict[FieldManager, Owned] = {}
    for manager, owned in entries.read(parent).items():
        path = paths.get(owned.api_version)
        if path and path in FieldSet(owned.fields):
            owners[manager] = Owned(_REPLICAS.node, SCALE_VERSION, owned.time)
    return entries.write(owners)


def from_scale(
    parent: list[Json] | None, scale: list[Json] | None, api_version: str, paths: ReplicasPaths
) -> list[Json]:
    """Return the managedFields of an object whose Scale was written.

    The real server identifies updaters by their API version, too, and the Scale's differs from the
    object's.  So an updater that owned the replicas and still does gets a second entry for them, and
    owners that come from a Scale have no time.
    """
    scalers = entries.read(scale)
    result: dict[FieldManager, Owned] = {}
    for manager, owned in entries.read(parent).items():
        if owned.api_version not in paths:
            continue  # an entry of a version that is no longer served
        path = paths[owned.api_version]
        if not path or path not in FieldSet(owned.fields):
            result[manager] = owned
        elif manager in scalers:
            result[manager] = owned
            del scalers[manager]
        else:
            rest = FieldSet(owned.fields) - FieldSet.of(path)
            if rest:
                result[manager] = owned.with_fields(rest.node)
    target = paths.get(api_version)
    for manager, owned in scalers.items():
        if target and ("f:spec", "f:replicas") in FieldSet(owned.fields):
            result[manager] = Owned(FieldSet.of(target).node, api_version)
    return entries.write(result)

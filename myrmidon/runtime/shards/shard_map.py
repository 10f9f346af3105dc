"""ShardMap: the record of which member owns which slice, kept in the annotations of one Lease.

There is one such Lease for each program.  Every change of owners is an update of it that is bound to
the resourceVersion that was read, so two members never change the owner of a slice at the same time.
``epoch`` grows with each change: a member that has seen an epoch ignores older states of the record.

Any client may have written the Lease.  ``read_map`` accepts every JSON object.  A record that a member
did not write is read as slices without an owner, and those are given away only after a full lease
duration.  Members prove their writes with a checksum, in which the uid of the Lease and the epoch
count as well: a person who edits the owners, or applies a copy of a Lease that was deleted, does not
cause that a member begins to work on a slice while another one does.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, annotations_of, labels_of, name_of
from myrmidon.api.values.fnv import fnv1a_64
from myrmidon.runtime.shards.assignment import Owners
from myrmidon.runtime.shards.slices import SLICES, slices_in, text_of
from myrmidon.runtime.shards.written_versions import (
    VERSIONS_ANNOTATION,
    Versions,
    merged,
    text_of_versions,
    versions_in,
)

LABEL = "myrmidon.dev/shards"
"""The label of the shard map and of all member Leases; its value names the program."""
SLICES_ANNOTATION = "myrmidon.dev/slices"
"""Of the shard map: the owners, as JSON.  Of a member Lease: the slices that the member works on."""
EPOCH_ANNOTATION = "myrmidon.dev/epoch"
BY_ANNOTATION = "myrmidon.dev/shard-by"
CHECKSUM_ANNOTATION = "myrmidon.dev/checksum"

UNOWNED: Owners = ("",) * SLICES
_LABEL_CHARACTERS_MAX = 63
_NAME_CHARACTERS_MAX = 253


@dataclass(frozen=True, slots=True)
class ShardMap:
    """One state of the record."""

    uid: str
    version: str
    epoch: int
    by: str
    """What is hashed: ``uid`` or ``namespace``."""
    owners: Owners
    versions: Versions
    """The versions that the caches of a new owner must have reached."""

    def owned_by(self, member: str) -> frozenset[int]:
        """Return the slices of a member."""
        return frozenset(number for number, owner in enumerate(self.owners) if owner == member)


def read_map(lease: Mapping[str, Any]) -> ShardMap:
    """Return what the Lease records; slices of which it records no valid owner have none."""
    noted, meta = annotations_of(lease), lease.get("metadata") or {}
    epoch = noted.get(EPOCH_ANNOTATION, "")
    return ShardMap(
        uid=str(meta.get("uid") or ""),
        version=str(meta.get("resourceVersion") or ""),
        epoch=int(epoch) if epoch.isascii() and epoch.isdigit() else 0,
        by=noted.get(BY_ANNOTATION, ""),
        owners=_owners_in(noted, str(meta.get("uid") or "")),
        versions=versions_in(noted),
    )


def written_map(name: str, program: str, by: str) -> Json:
    """Return a new Lease for the record, in which no slice has an owner."""
    return {
        "apiVersion": kinds.LEASE.api_version,
        "kind": kinds.LEASE.kind,
        "metadata": {
            "name": name,
            "labels": {LABEL: label_value(program)},
            "annotations": _annotations(UNOWNED, 0, by),
        },
        "spec": {},
    }


def with_owners(
    lease: Mapping[str, Any], owners: Owners, epoch: int, by: str, versions: Mapping[str, int]
) -> Json:
    """Return the Lease with other owners; its resourceVersion makes a stale write fail.

    ``versions`` are those that the caches of new owners must have reached.
    """
    meta = dict(lease["metadata"])
    noted = annotations_of(lease)
    reached = text_of_versions(merged(versions_in(noted), versions))
    said = {**_annotations(owners, epoch, by), VERSIONS_ANNOTATION: reached}
    said[CHECKSUM_ANNOTATION] = _checksum(said, str(meta.get("uid") or ""))
    meta["annotations"] = {**noted, **said}
    identity = {"apiVersion": kinds.LEASE.api_version, "kind": kinds.LEASE.kind}
    return {**lease, **identity, "metadata": meta}


def is_map(lease: Mapping[str, Any], program: str) -> bool:
    """Whether the Lease is the shard map of the program, and not a member Lease."""
    return name_of(lease) == map_name(program) and LABEL in labels_of(lease)


def map_name(program: str) -> str:
    """Return the name of the shard map of a program."""
    return f"{program[: _NAME_CHARACTERS_MAX - 7]}-shards"


def member_name(program: str, identity: str) -> str:
    """Return the name of the Lease of a member."""
    legal = "".join(each if each.isascii() and each.isalnum() else "-" for each in identity.lower())
    room = _NAME_CHARACTERS_MAX - len(program) - len("-shard-")
    return f"{program}-shard-{legal[-max(room, 20) :].strip('-')}"


def label_value(program: str) -> str:
    """Return the value of the label for a program: its name, shortened with a hash if it is long."""
    if len(program) <= _LABEL_CHARACTERS_MAX:
        return program
    return f"{program[:46].rstrip('-.')}-{fnv1a_64(program):016x}"


def _annotations(owners: Owners, epoch: int, by: str) -> dict[str, str]:
    slices: dict[str, list[int]] = {}
    for number, owner in enumerate(owners):
        if owner:
            slices.setdefault(owner, []).append(number)
    texts = {owner: text_of(numbers) for owner, numbers in sorted(slices.items())}
    return {
        SLICES_ANNOTATION: json.dumps(texts),
        EPOCH_ANNOTATION: str(epoch),
        BY_ANNOTATION: by,
    }


def _checksum(noted: Mapping[str, str], uid: str) -> str:
    parts = (noted.get(name, "") for name in (SLICES_ANNOTATION, EPOCH_ANNOTATION, BY_ANNOTATION))
    return f"{fnv1a_64(' '.join((uid, *parts))):016x}"


def _owners_in(noted: Mapping[str, str], uid: str) -> Owners:
    """Return the owners; none if a member did not write them, or if they cannot be read."""
    if noted.get(CHECKSUM_ANNOTATION) != _checksum(noted, uid):
        return UNOWNED
    try:
        recorded = json.loads(noted.get(SLICES_ANNOTATION, ""))
        claims = [(owner, slices_in(slices)) for owner, slices in recorded.items()]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return UNOWNED
    owners, seen = list(UNOWNED), set[int]()
    for owner, slices in claims:
        for number in slices:
            owners[number] = "" if number in seen else owner
            seen.add(number)
    return tuple(owners)

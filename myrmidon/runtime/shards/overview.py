"""The overview that `myrmidon shards` prints: who owns which slices, by the Leases of the programs.

A reader outside the program cannot say by its own clock whether a member lives, because it sees each
Lease once.  It compares ``renewTime`` with the time of its machine instead, so that a member whose
clock is wrong may be shown as silent; nothing depends on it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from myrmidon.api.objects.accessors import Json, annotations_of, labels_of, name_of
from myrmidon.api.values.timestamps import read_time
from myrmidon.runtime.leader.lease_record import read_lease
from myrmidon.runtime.shards.shard_map import LABEL, SLICES_ANNOTATION, is_map, read_map
from myrmidon.runtime.shards.slices import SLICES, text_of


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One member of a program, or the slices without one."""

    program: str
    member: str
    slices: str
    count: int
    works_on: str
    """The slices on which the member works, by its own Lease; they differ during a handover."""
    state: str
    """``live``, ``silent`` (not renewed in time), ``released`` or ``no Lease``."""

    @property
    def is_served(self) -> bool:
        """Whether the slices have a living owner."""
        return self.state == "live" or not self.count


def overview(leases: Iterable[Json], now: datetime) -> list[ShardRow]:
    """Return the members of every program and their slices, sorted by program and name."""
    programs: dict[str, list[Json]] = {}
    for lease in leases:
        if program := labels_of(lease).get(LABEL):
            programs.setdefault(program, []).append(lease)
    return [row for name in sorted(programs) for row in _rows(name, programs[name], now)]


def _rows(program: str, leases: list[Json], now: datetime) -> list[ShardRow]:
    # The label may be a shortened name; the map is the one Lease that ends like one.
    maps = [one for one in leases if is_map(one, name_of(one).removesuffix("-shards"))]
    owners = read_map(maps[0]).owners if maps else ("",) * SLICES
    members = {name_of(one): one for one in leases if one not in maps}
    rows: list[ShardRow] = []
    for name in sorted({*members, *owners}):
        slices = [number for number, owner in enumerate(owners) if owner == name]
        if name or slices:
            lease = members.get(name)
            said = "" if lease is None else annotations_of(lease).get(SLICES_ANNOTATION, "")
            state = _state(lease, now)
            rows.append(ShardRow(program, name, text_of(slices), len(slices), said, state))
    return rows


def _state(lease: Mapping[str, Any] | None, now: datetime) -> str:
    if lease is None:
        return "no Lease"
    record = read_lease(lease)
    if record.is_released:
        return "released"
    try:
        renewed_at = read_time(record.renewed_at)
    except ValueError:
        return "silent"
    late = now - renewed_at > timedelta(seconds=record.seconds)
    return "silent" if late or not record.holder else "live"

"""``myrmidon shards``: who owns what, from the Leases alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from myrmidon.cli.commands.shards import told
from myrmidon.runtime.shards.overview import overview
from myrmidon.runtime.shards.shard_map import LABEL, map_name, with_owners, written_map
from myrmidon.runtime.shards.slices import SLICES

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def member(name: str, **spec: Any) -> dict[str, Any]:
    """Return a member Lease."""
    held = {
        "holderIdentity": name,
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:59.000000Z",
    }
    meta = {
        "name": f"p-shard-{name}",
        "labels": {LABEL: "p"},
        "annotations": {"myrmidon.dev/slices": "0-99"},
    }
    return {"metadata": meta, "spec": {**held, **spec}}


def shard_map(*owners: tuple[str, int]) -> dict[str, Any]:
    """Return a shard map with runs of owners."""
    named = [name and f"p-shard-{name}" for name, length in owners for _ in range(length)]
    return with_owners(written_map(map_name("p"), "p", "uid"), tuple(named), 3, "uid", {})


def test_members_and_their_slices() -> None:
    """One works on what it owns, the other is about to get its slices."""
    rows = overview([member("b"), shard_map(("a", 100), ("b", 156)), member("a")], NOW)
    assert told(rows) == [
        "PROGRAM  MEMBER  STATE  SHARE  SLICES   WORKS ON",
        "p        a       live   39%    0-99     the same",
        "p        b       live   61%    100-255  0-99",
    ]
    assert all(row.is_served for row in rows)


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        ({"renewTime": "2026-01-01T00:00:10.000000Z"}, "silent"),
        ({"renewTime": "nonsense"}, "silent"),
        ({"holderIdentity": "", "leaseDurationSeconds": 1}, "released"),
    ],
)
def test_s2_slices_of_a_member_that_does_not_live_are_not_served(
    spec: dict[str, Any], state: str
) -> None:
    """The command then ends with status 1."""
    rows = overview([member("a", **spec), shard_map(("a", SLICES))], NOW)
    assert [(row.state, row.is_served) for row in rows] == [(state, False)]


def test_s2_slices_without_an_owner_and_owners_without_a_lease_are_named() -> None:
    """The map may be new, or a person deleted the Lease."""
    rows = overview([shard_map(("", 100), ("x", 156)), member("a")], NOW)
    assert [line.split()[1:4] for line in told(rows)[1:]] == [
        ["none", "no", "owner"],
        ["a", "live", "0%"],
        ["x", "no", "Lease"],
    ]
    assert [row.is_served for row in rows] == [False, True, False]
    assert overview([{"metadata": {"name": "other"}}], NOW) == []

"""The Lease object of an election: lenient reading, the duration to write, the default name.

The API server checks a Lease, but any client may have written it and any server may have sent it.
``read_lease`` therefore accepts every JSON object: a field of the wrong type is read as the value
that makes a candidate wait, never as one that lets it lead.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from myrmidon.api.objects.accessors import Json

SECONDS_MAX = 3600.0
"""The longest lease duration that is respected: a typo must not block a takeover for years."""

RELEASED_SECONDS = 1
"""``leaseDurationSeconds`` of a Lease that its holder released, as client-go writes it.  A held
Lease never has this value (see ``granted_seconds``), so a release differs from a holder removed by
hand."""

_NAME_CHARACTERS_MAX = 253


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """One state of the Lease.  Two reads that give equal records saw the same write."""

    uid: str
    version: str
    holder: str
    """The identity of the holder, "" for none."""
    seconds: float
    """``leaseDurationSeconds``, 0.0 if it is absent or not valid."""
    renewed_at: str
    """``renewTime``, by the holder's wall clock: compared for equality only."""
    transitions: int

    @property
    def is_released(self) -> bool:
        """Whether the last holder released the Lease, after it had stopped writing."""
        return not self.holder and self.seconds == RELEASED_SECONDS


def read_lease(lease: object) -> LeaseRecord:
    """Return the fields of a Lease; fields of the wrong type are read as if absent or foreign."""
    fields = _mapping(lease)
    meta, spec = _mapping(fields.get("metadata")), _mapping(fields.get("spec"))
    transitions = spec.get("leaseTransitions")
    return LeaseRecord(
        uid=_text(meta.get("uid")),
        version=_text(meta.get("resourceVersion")),
        holder=_text(spec.get("holderIdentity")),
        seconds=_seconds(spec.get("leaseDurationSeconds")),
        renewed_at=_text(spec.get("renewTime")),
        transitions=int(transitions) if type(transitions) is int and transitions > 0 else 0,
    )


def granted_seconds(lease_seconds: float) -> int:
    """Return ``leaseDurationSeconds`` for a held Lease.

    The field holds whole seconds, so it is rounded up; 1 is reserved for a released Lease.
    """
    return max(ceil(lease_seconds), RELEASED_SECONDS + 1)


def with_spec(lease: Mapping[str, Any], spec: Json) -> Json:
    """Return the Lease with another spec; its resourceVersion makes a stale write fail."""
    return {**lease, "spec": spec}


def default_lease_name(controllers: Sequence[tuple[str, str]]) -> str:
    """Return the default name of the Lease, made from the first controller.

    ``controllers`` are (name, API group) in the order in which they were added.  Programs with
    different controllers get different Leases.  Two versions of one program share a Lease, because
    API versions, namespaces and further controllers are not part of the name.
    """
    name, group = controllers[0] if controllers else ("", "")
    words = re.sub(r"[^a-z0-9.]+", "-", ".".join(filter(None, (name, group))).lower())
    return f"myrmidon-{words.strip('-.')}"[:_NAME_CHARACTERS_MAX].rstrip("-.")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """Return a string unchanged, "" for None; other values as a text that equals no identity."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"unreadable: {value!r}"


def _seconds(value: object) -> float:
    """Return a positive number of seconds, 0.0 for any other value, including a bool."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(min(value, SECONDS_MAX))
    return 0.0

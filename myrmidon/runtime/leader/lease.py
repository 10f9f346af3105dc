"""The Lease object of an election: what it says, read leniently, and what is written into it.

The API server checks a Lease, but any client may have written it and any server may have sent it.
``read_lease`` therefore accepts every JSON object: a field of the wrong type is read as the value
that makes a candidate wait, never as one that lets it lead.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from myrmidon.api.objects import Json

SECONDS_MAX = 3600.0
"""The longest lease duration that is obeyed: a typing error must not stop a program for years."""

RELEASED_SECONDS = 1
"""``leaseDurationSeconds`` of a Lease that its holder gave back, as client-go writes it.  A held
Lease never says so (see ``granted_seconds``), so a holder that was removed by hand is told apart."""

_NAME_CHARACTERS_MAX = 253


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """One state of the Lease.  Two reads that give equal records saw the same write."""

    uid: str
    version: str
    holder: str
    """The identity of the holder, "" for none."""
    seconds: float
    """How long the holder may lead after a renewal; 0.0 if the Lease does not say it."""
    renewed_at: str
    """``renewTime``, by the holder's wall clock: compared for equality only."""
    transitions: int

    @property
    def is_released(self) -> bool:
        """Whether the last holder gave the Lease back: it has stopped writing."""
        return not self.holder and self.seconds == RELEASED_SECONDS


def read_lease(lease: object) -> LeaseRecord:
    """Return what a Lease says, whatever types its fields have."""
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

    The field has whole seconds: it is rounded up, and 1 is left to a Lease that was given back.
    """
    return max(ceil(lease_seconds), RELEASED_SECONDS + 1)


def with_spec(lease: Mapping[str, Any], spec: Json) -> Json:
    """Return the Lease with another spec; its version binds the write to the state that was read."""
    return {**lease, "spec": spec}


def default_lease_name(controllers: Sequence[tuple[str, str]]) -> str:
    """Return the name of the Lease for a program that did not choose one.

    ``controllers`` are (name, API group) in the order in which they were added.  The name is that of
    the first one, so programs with different controllers do not wait for each other, while two
    versions of one program do: neither the version of the API, nor the namespaces, nor controllers
    that are added later are part of it.
    """
    name, group = controllers[0] if controllers else ("", "")
    words = re.sub(r"[^a-z0-9.]+", "-", ".".join(filter(None, (name, group))).lower())
    return f"myrmidon-{words.strip('-.')}"[:_NAME_CHARACTERS_MAX].rstrip("-.")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    """A string as it is, "" for nothing; anything else printed, so that it equals no identity."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"unreadable: {value!r}"


def _seconds(value: object) -> float:
    """A positive number of seconds, 0.0 for anything else; a bool is not a number here."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(min(value, SECONDS_MAX))
    return 0.0

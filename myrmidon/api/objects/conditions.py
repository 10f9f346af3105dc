"""Status conditions: as values, as JSON, and in the status of an object."""

from typing import Any, Literal, NamedTuple

from myrmidon.api.objects.accessors import Json, conditions_in, generation_of

ConditionStatus = Literal["True", "False", "Unknown"]

READY = "Ready"
# The two condition types that kstatus defines: work is under way, and no progress is made.
RECONCILING, STALLED = "Reconciling", "Stalled"  # Stalled is also a reason


class ConditionValue(NamedTuple):
    """The value of a state's condition: status, reason in CamelCase, and message."""

    status: ConditionStatus
    reason: str
    message: str = ""


class Condition(NamedTuple):
    """A status condition as Kubernetes defines it (``metav1.Condition``)."""

    type: str
    status: ConditionStatus
    reason: str
    message: str
    observed_generation: int
    last_transition_time: str

    def to_json(self) -> Json:
        """Return the condition as an entry of ``status.conditions``."""
        return {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": self.observed_generation,
            "lastTransitionTime": self.last_transition_time,
        }

    @classmethod
    def from_json(cls, raw: Any) -> "Condition | None":
        """Read a condition; None if the value is not a condition."""
        if not isinstance(raw, dict) or not raw.get("type"):
            return None
        observed = raw.get("observedGeneration")
        return cls(
            type=str(raw["type"]),
            status=raw.get("status") or "Unknown",
            reason=str(raw.get("reason") or ""),
            message=str(raw.get("message") or ""),
            observed_generation=observed if isinstance(observed, int) else 0,
            last_transition_time=str(raw.get("lastTransitionTime") or ""),
        )


def find(obj: Json, condition_type: str) -> Condition | None:
    """Return the condition of that type in the object's status; None if it does not have one."""
    raw = _find(obj, condition_type)
    return None if raw is None else Condition.from_json(raw)


def status_of(obj: Json, condition_type: str) -> ConditionStatus:
    """Return the status of that condition; ``Unknown`` if the object does not have it."""
    raw = _find(obj, condition_type)
    return (raw and raw.get("status")) or "Unknown"


def is_ready(obj: Json) -> bool:
    """Whether the condition Ready in the object's status is True for its current generation.

    This is the rule for objects with conditions of ours.  Children of any kind have rules of their
    own (``fsm.children.readiness``).
    """
    ready = find(obj, READY)
    return (
        ready is not None
        and ready.status == "True"
        and ready.observed_generation == generation_of(obj)
    )


def _find(obj: Json, condition_type: str) -> Json | None:
    for raw in conditions_in(obj):
        if isinstance(raw, dict) and raw.get("type") == condition_type:
            return raw
    return None

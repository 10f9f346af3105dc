"""Which webhooks and policies see an object a second time, because later ones have changed it.

Mutating steps run in order, so the first does not see what the last has changed.  With
``reinvocationPolicy: IfNeeded`` it is run once more in a second round, if the object has changed after
its call.  A step that was not run in the first round is not run in the second.
"""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.requests.call import PendingWrite


class Reinvocations:
    """What one admission step remembers between the two rounds of a write."""

    def __init__(self) -> None:
        self._called: set[Any] = set()  # may be called again, if the object changes from now on
        self._due: set[Any] = set()
        self._left: Json | None = None  # the object at the end of the step

    def is_due(self, key: Any) -> bool:
        """Whether this one is to be called again in the second round."""
        return key in self._due

    def called(self, key: Any) -> None:
        """Note a call of one that wants to see later changes."""
        self._called.add(key)

    def changed(self, admission: PendingWrite) -> None:
        """Note that the object has changed."""
        self._due |= self._called
        self._called = set()
        admission.is_changed = True

    def begun(self, admission: PendingWrite) -> None:
        """Compare the object with what the step left in the first round: others may have changed it."""
        if admission.again and not identical(self._left, admission.obj):
            self._due |= self._called
            self._called = set()

    def ended(self, admission: PendingWrite) -> None:
        """Note what the step leaves."""
        self._left = admission.obj


def reinvocations(admission: PendingWrite, step: str) -> Reinvocations:
    """Return the memory of a step for this write."""
    if admission.notes is None:
        admission.notes = {}
    found: Reinvocations = admission.notes.setdefault(step, Reinvocations())
    found.begun(admission)
    return found

"""RefusedOutputs: which objects of other parents block which outputs, and which keys their end wakes.

An output is refused while an object with its name exists that belongs to another parent or to none
(``AlreadyOwned``, ``AdoptionRefused``), or that is being deleted (``ObjectTerminating``).  The parent
then retries with backoff, up to every five minutes.  What it waits for is a change of that object,
but such an object does not name the parent, so ``Triggers`` cannot find the parent from it.

Therefore a pass notes each output that was refused, and a change that may end the refusal causes a
pass of the parent at once: the object is deleted, replaced, marked as being deleted, or its owner
references, tracking marks or adoption annotation change.  Other changes, such as the status of an
object that is busy, cause no pass.

- A pass drops the notes of the pass before it, so they always are those of the last pass.
- The refusal is decided on a cached object while other outputs are still being written.  If the
  object changes in between, its watch event finds no note yet, so the pass looks at the cache again
  when it makes the note (``is_blocked``).
- The notes are only memory.  After a restart every object gets a pass, which makes them again.
"""

from collections.abc import Collection, Mapping
from typing import Any

from myrmidon.api.objects.accessors import annotations_of, is_deleting, labels_of, owners_of, uid_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import AlreadyOwnedError, NotAdoptedError, TerminatingError
from myrmidon.io.watch.changes import Change
from myrmidon.sets.outputs.outputs import Output
from myrmidon.sets.ownership.adoption import ADOPT, refuse_others
from myrmidon.sets.ownership.owner_references import PARENT, PARENT_UID, Parent

REFUSALS = (AlreadyOwnedError, NotAdoptedError, TerminatingError)
"""The errors of a write that end when the object in the way changes or is deleted."""


class RefusedOutputs:
    """The refused outputs of one controller, by the object in the way."""

    def __init__(self) -> None:
        self._parents: dict[ObjectRef, dict[ObjectRef, None]] = {}
        self._outputs: dict[ObjectRef, dict[ObjectRef, None]] = {}

    def note(self, parent: ObjectRef, output: ObjectRef) -> None:
        """Note that an object is in the way of a parent's output."""
        self._parents.setdefault(output, {})[parent] = None
        self._outputs.setdefault(parent, {})[output] = None

    def drop(self, parent: ObjectRef) -> None:
        """Drop all notes of a parent."""
        for output in self._outputs.pop(parent, ()):
            parents = self._parents[output]
            del parents[parent]
            if not parents:
                del self._parents[output]

    def woken_by(self, change: Change) -> Collection[ObjectRef]:
        """Return the parents for which a change may end a refusal."""
        parents = self._parents.get(change.ref)
        if parents is None or _marks(change.before) == _marks(change.after):
            return ()
        return parents

    def __len__(self) -> int:
        return len(self._outputs)


def is_blocked(current: Mapping[str, Any] | None, output: Output, parent: Parent) -> bool:
    """Whether an object, as the cache has it now, is in the way of an output."""
    if current is None or is_deleting(current):
        return current is not None
    try:
        refuse_others(current, output, parent)
    except REFUSALS:
        return True
    return False


def _marks(obj: Mapping[str, Any] | None) -> Any:
    """Return the parts of an object that decide whether an output may write it."""
    if obj is None:
        return None
    annotations = annotations_of(obj)
    return (
        uid_of(obj),
        is_deleting(obj),
        list(owners_of(obj)),
        labels_of(obj).get(PARENT_UID),
        annotations.get(PARENT),
        annotations.get(ADOPT),
    )

"""CausalLinks: which earlier span caused a pass, for the links of its own span.

A pass may be caused by

- a write of another pass in this process: another controller, or the same one for another object.
  The watch event that wakes the pass has the uid and the resourceVersion that the answer of that
  write had.  So each write is remembered by (uid, resourceVersion) with the span of its request.
- a request of a user or a pipeline that left its span in the annotation ``traceparent`` of the
  object that woke the pass.  It counts only in the change that brought the annotation: an old one
  did not cause what happens later.

The watch event may be handled before the answer of the write is.  A version that is not known when
the pass begins is therefore looked up once more when the pass ends (``Waking.late``).

Writes of a pass are never a cause of later passes of the same controller over the same object: the
queue drops those changes as its own writes, and so does this module, if the answer came too late.

Memory is bounded: the last ``WRITES_MAX`` writes, ``WOKEN_MAX`` keys that wait for their pass, and
``CHANGES_MAX`` changes of each.  What is forgotten costs a link, nothing else.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from myrmidon.api.objects.accessors import Json, annotations_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.io.watch.changes import Change

TRACEPARENT = "traceparent"
WRITES_MAX = 5_000
WOKEN_MAX = 5_000
CHANGES_MAX = 8
_GONE = ""  # in place of the resourceVersion of an object that was removed


class Author(NamedTuple):
    """The passes of one controller over one object."""

    controller: str
    key: ObjectRef

    def __str__(self) -> str:
        return f"{self.controller} {self.key.key}"


class Version(NamedTuple):
    """One version of one object in any cluster."""

    uid: str
    version: str


class SpanOfWrite(NamedTuple):
    """A write of a pass: the span context of its request, and whose pass it was."""

    context: Any
    by: Author


@dataclass(slots=True)
class Waking:
    """What woke a pass: the versions whose writes are not known yet, and annotations."""

    versions: list[Version] = field(default_factory=list)
    traceparents: list[str] = field(default_factory=list)


class CausalLinks:
    """Remembers the writes of this process, and which changes woke which object."""

    def __init__(self) -> None:
        self._writes: OrderedDict[Version, SpanOfWrite] = OrderedDict()
        self._woken: OrderedDict[Author, Waking] = OrderedDict()

    def wrote(self, by: Author, response: HttpResponse, context: Any) -> None:
        """Remember the span of a write by the version that its answer names."""
        version = version_in(response)
        if version is None or version in self._writes:
            return  # a write without effect: the version is an earlier write's
        self._writes[version] = SpanOfWrite(context, by)
        if len(self._writes) > WRITES_MAX:
            self._writes.popitem(last=False)

    def woke(self, author: Author, change: Change) -> None:
        """Remember that a change woke an object; the next pass over it is linked to its cause."""
        waking = self._woken.get(author)
        if waking is None:
            waking = self._woken[author] = Waking()
            if len(self._woken) > WOKEN_MAX:
                self._woken.popitem(last=False)
        is_named = change.new is None or change.version  # else its version is not a number
        if is_named and len(waking.versions) < CHANGES_MAX:
            version = _GONE if change.new is None else change.version
            waking.versions.append(Version(change.uid, version))
        if change.ref != author.key and len(waking.traceparents) < CHANGES_MAX:
            said = _traceparent(change.after)
            if said and said != _traceparent(change.before):
                waking.traceparents.append(said)

    def begin(self, author: Author) -> Waking:
        """Return what woke the object since its last pass, and forget it."""
        return self._woken.pop(author, None) or Waking()

    def writes(self, author: Author, waking: Waking) -> list[SpanOfWrite]:
        """Return the known writes of other passes that woke the object; the others stay in it."""
        known = {version: self._writes.get(version) for version in waking.versions}
        waking.versions = [version for version, write in known.items() if write is None]
        return [write for write in known.values() if write is not None and write.by != author]


def version_in(response: HttpResponse) -> Version | None:
    """Return the version that the answer of a write names, None if it does not name one.

    The answer to a delete is the object, or a Status with the uid: then the object is gone.
    """
    if response.status >= 300:
        return None
    try:
        body = orjson.loads(response.body)
        if body.get("kind") == "Status":
            uid, version = body["details"]["uid"], _GONE
        else:
            uid, version = body["metadata"]["uid"], body["metadata"]["resourceVersion"]
    except (ValueError, AttributeError, KeyError, TypeError):
        return None
    return Version(str(uid), str(version))


def _traceparent(obj: Json | None) -> str:
    return annotations_of(obj or {}).get(TRACEPARENT, "")

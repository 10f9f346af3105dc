"""Kubernetes Events: what happened to an object, shown by `kubectl describe`.

``EventRecorder.record`` never waits and never raises.  A background task (``run``) writes the
Events, one at a time.  A repeated Event is not written again: its count is raised (``Correlator``).
Events are dropped if there are too many, if the server refuses them, or if they cannot be written
for any other reason.  None of this ends the task: a controller must not stop because of an Event.

Reason and message are shortened to what the server accepts, and made encodable, before they are
compared or stored.  This also bounds the memory of the correlator.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json, name_of, namespace_of, uid_of, version_of
from myrmidon.api.objects.kinds import EVENT
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.values.texts import event_message, event_reason, printable, text_of
from myrmidon.api.values.timestamps import write_time
from myrmidon.errors import AlreadyExistsError, NotFoundError
from myrmidon.io.client import Client
from myrmidon.io.throttle import TokenBucket

_NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]")
_log = logging.getLogger(__name__)


class Topic(NamedTuple):
    """The fields that identify an Event.  A second one with the same topic raises the count."""

    namespace: str
    name: str
    uid: str
    kind: str
    api_version: str
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class EventTally:
    """How often a topic was recorded, and how much of that has been written."""

    topic: Topic
    first_at: datetime
    last_at: datetime
    count: int = 0
    written: int = 0  # the count that the server has; 0 if the Event has not been created
    subject_version: str = ""  # resourceVersion of the object at the last record


class Correlator:
    """Decides whether a recorded Event is written, merged with another, or dropped.

    - A topic that was recorded before gets a higher count.
    - After ``similar_max`` different messages for one reason and object, further messages share one
      Event, "(combined from similar events)".  Otherwise a message with an id or a time in it would
      make a new Event each time.  After ``quiet_seconds`` without that reason, messages are told
      apart again.
    - Each object may cause ``burst`` writes at once, and then ``qps`` writes per second (by default
      one in five minutes).  More are dropped; their count is written with the next one.
    - Each table has at most ``topics_max`` entries; the oldest is dropped first.
    """

    def __init__(
        self,
        *,
        similar_max: int = 10,
        burst: int = 25,
        qps: float = 1 / 300,
        topics_max: int = 4096,
        quiet_seconds: float = 600.0,
    ) -> None:
        self._similar_max, self._burst, self._qps = similar_max, burst, qps
        self._topics_max, self._quiet_seconds = topics_max, quiet_seconds
        self._tallies: dict[Topic, EventTally] = {}
        self._similar: dict[Topic, dict[str, None]] = {}
        self._last_at: dict[Topic, float] = {}
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, topic: Topic, version: str, at: datetime, now: float) -> EventTally | None:
        """Count an Event; return its tally if it is to be written, None if it is dropped."""
        self._forget_oldest()
        topic = self._common(topic, now)
        tally = self._tallies.setdefault(topic, EventTally(topic, at, at))
        tally.count += 1
        tally.last_at, tally.subject_version = at, version
        bucket = self._buckets.setdefault(
            f"{topic.uid}/{topic.namespace}/{topic.name}", TokenBucket(self._qps, self._burst)
        )
        return tally if bucket.try_take(now) else None

    def _common(self, topic: Topic, now: float) -> Topic:
        group = topic._replace(message="")
        if now - self._last_at.get(group, now) > self._quiet_seconds:
            self._similar.pop(group, None)
        self._last_at[group] = now
        messages = self._similar.setdefault(group, {})
        if topic.message in messages:
            return topic
        if len(messages) >= self._similar_max:
            return topic._replace(message="(combined from similar events)")
        messages[topic.message] = None
        return topic

    def _forget_oldest(self) -> None:
        tables: tuple[dict[Any, Any], ...] = (
            self._tallies,
            self._similar,
            self._last_at,
            self._buckets,
        )
        for known in tables:
            if len(known) >= self._topics_max:
                del known[next(iter(known))]


class EventRecorder:
    """Records Events about objects; ``run`` writes them.

    ``component`` is the reporting controller, ``instance`` the reporting process (by default the
    same).  While ``waiting_max`` Events wait to be written, further ones are dropped.  ``dropped``
    counts those that were not written.
    """

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        clock: Clock,
        instance: str = "",
        waiting_max: int = 1000,
        correlator: Correlator | None = None,
    ) -> None:
        self._client, self._component, self._clock = client, component, clock
        self._instance = instance or component
        self._waiting_max = waiting_max
        self._correlator = correlator or Correlator()
        self._waiting: dict[Topic, EventTally] = {}
        self._arrived = asyncio.Event()
        self.dropped = 0

    def record(self, obj: Mapping[str, Any], type_: str, reason: str, message: str) -> None:
        """Queue an Event about an object.  Return at once; never raise."""
        try:
            topic = _topic(obj, type_, reason, message)
        except Exception as error:  # noqa: BLE001 - an Event must never fail a pass
            self._drop(error, reason)
            return
        now = self._clock.monotonic()
        tally = self._correlator.take(topic, version_of(obj), self._clock.now(), now)
        if tally is None or len(self._waiting) >= self._waiting_max:
            self.dropped += 1
            return
        self._waiting[tally.topic] = tally
        self._arrived.set()

    async def run(self) -> NoReturn:
        """Write recorded Events until cancelled."""
        while True:
            await self.flush()
            self._arrived.clear()
            await self._arrived.wait()

    async def flush(self) -> None:
        """Write all Events that wait."""
        while self._waiting:
            topic = next(iter(self._waiting))
            tally = self._waiting.pop(topic)
            try:
                await self._write(tally)
            except Exception as error:  # noqa: BLE001 - the next Event may still be written
                self._drop(error, topic.reason)

    def _drop(self, error: Exception, reason: str) -> None:
        self.dropped += 1
        _log.debug("event not written: %s", text_of(error), extra={"facts": {"reason": reason}})

    async def _write(self, tally: EventTally) -> None:
        count = tally.count
        event = self._manifest(tally)
        if tally.written:
            try:
                await self._count_up(event)
            except NotFoundError:  # the server deletes Events after an hour
                await self._client.create(EVENT, event)
        else:
            try:
                await self._client.create(EVENT, event)
            except AlreadyExistsError:  # an earlier process of this controller wrote it
                await self._adopt(event, tally)
        tally.written = count

    async def _adopt(self, event: Json, tally: EventTally) -> None:
        known = await self._client.get(_ref(event))
        tally.count += int(known.get("count") or 0)
        event["count"] = tally.count
        await self._count_up(event)

    async def _count_up(self, event: Json) -> None:
        fields = ("count", "lastTimestamp")
        await self._client.patch(_ref(event), {name: event[name] for name in fields})

    def _manifest(self, tally: EventTally) -> Json:
        topic = tally.topic
        # The name is a hash of the content, so a restarted process finds its own Event again.
        digest = hashlib.blake2b("\0".join((*topic, self._component)).encode(), digest_size=8)
        subject: Json = {
            "apiVersion": topic.api_version,
            "kind": topic.kind,
            "name": topic.name,
            "namespace": topic.namespace,
            "uid": topic.uid,
            "resourceVersion": tally.subject_version,
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": _event_name(topic.name, digest.hexdigest()),
                "namespace": topic.namespace or "default",
            },
            "involvedObject": {name: value for name, value in subject.items() if value},
            "type": topic.type,
            "reason": topic.reason,
            "message": topic.message,
            "count": tally.count,
            "firstTimestamp": write_time(tally.first_at),
            "lastTimestamp": write_time(tally.last_at),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }


def _topic(obj: Mapping[str, Any], type_: str, reason: str, message: str) -> Topic:
    return Topic(
        printable(namespace_of(obj)),
        printable(name_of(obj)),
        printable(uid_of(obj)),
        printable(str(obj.get("kind") or "")),
        printable(str(obj.get("apiVersion") or "")),
        printable(text_of(type_)),
        event_reason(reason),
        event_message(message),
    )


def _event_name(name: str, digest: str) -> str:
    """Return a valid name for an Event.  Other kinds, such as Roles, allow more characters."""
    labels = (part.strip("-") for part in _NOT_IN_NAMES.sub("-", name[:230].lower()).split("."))
    return ".".join((*filter(None, labels), digest))


def _ref(event: Json) -> ObjectRef:
    return ObjectRef(EVENT, name_of(event), namespace_of(event))

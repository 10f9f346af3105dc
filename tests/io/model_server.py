"""A minimal API server: one kind, one sequence of versions, the whole history."""

from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ApiError, ExpiredError, api_error
from myrmidon.io.lists.events import WatchEvent


def config_map(name: str, uid: str, version: int, text: str = "", namespace: str = "ns") -> Json:
    """Build a ConfigMap as a watch delivers it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "resourceVersion": str(version),
            "managedFields": [{"manager": "somebody"}],
        },
        "data": {"text": text},
    }


def expired() -> ApiError:
    """Return the response for a version that is compacted away."""
    return ExpiredError(410, "Expired", "too old resource version")


@dataclass
class ModelServer:
    """Objects by name, and the history of their events."""

    version: int = 10
    floor: int = 0  # events up to this version are compacted away
    objects: dict[str, Json] = field(default_factory=dict)
    history: list[tuple[int, WatchEvent]] = field(default_factory=list)
    snapshots: dict[str, tuple[int, list[Json]]] = field(default_factory=dict)

    def write(self, name: str, text: str = "") -> Json:
        """Create or change an object; return the response."""
        known = self.objects.get(name)
        self.version += 1
        uid = known["metadata"]["uid"] if known else f"{name}-{self.version}"
        obj = config_map(name, uid, self.version, text or f"at {self.version}")
        self.objects[name] = obj
        self.history.append((self.version, WatchEvent("MODIFIED" if known else "ADDED", obj)))
        return copied(obj)

    def delete(self, name: str) -> Json | None:
        """Delete an object; return it."""
        known = self.objects.pop(name, None)
        if known is not None:
            self.version += 1
            last = copied(known)
            last["metadata"]["resourceVersion"] = str(self.version)
            self.history.append((self.version, WatchEvent("DELETED", last)))
        return known

    def compact(self) -> None:
        """Compact the history: watches and pages from it are refused."""
        self.floor = self.version
        self.snapshots.clear()

    def page(self, token: str, limit: int) -> tuple[list[Json], str, str]:
        """Return one page of a consistent list: items, version, token of the next."""
        if token:
            if token not in self.snapshots:
                raise expired()
            version, items = self.snapshots[token]
        else:
            version, items = self.version, [copied(self.objects[n]) for n in sorted(self.objects)]
        if not limit or len(items) <= limit:
            return items, str(version), ""
        following = f"{version}-{len(items)}"
        self.snapshots[following] = (version, items[limit:])
        return items[:limit], str(version), following

    def events_after(self, version: int) -> list[WatchEvent]:
        """Return the events of a watch from a version."""
        if version < self.floor:
            raise expired()
        return [
            WatchEvent(event.type, copied(event.object))
            for at, event in self.history
            if at > version
        ]

    def bookmark(self, *, ends_initial: bool = False, version: int | None = None) -> WatchEvent:
        """Return a bookmark with the current version."""
        meta: dict[str, Any] = {"resourceVersion": str(version or self.version)}
        if ends_initial:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return WatchEvent("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta})

    def visible(self) -> dict[str, tuple[str, str]]:
        """Return name to uid and version, as an up-to-date cache should have it."""
        return {
            name: (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
            for name, obj in self.objects.items()
        }


def copied(obj: Json) -> Json:
    """A deep enough copy."""
    return {**obj, "metadata": {**obj["metadata"]}, "data": {**obj["data"]}}


def refusal(status: int) -> ApiError:
    """Return any other refusal of a server."""
    return api_error(status, {"reason": "Trouble", "message": "later"}, retry_after=1.0)

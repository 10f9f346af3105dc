"""An API server too simple to be wrong: one kind, one sequence of versions, the whole history."""

from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import ApiError, ExpiredError, api_error
from myrmidon.io.lists.events import WatchEvent


def config_map(name: str, uid: str, version: int, text: str = "", namespace: str = "ns") -> Json:
    """A ConfigMap as a watch shows it."""
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
    """What the server says about a version that is compacted away."""
    return ExpiredError(410, "Expired", "too old resource version")


@dataclass
class ModelServer:
    """Objects by name and everything that ever happened to them."""

    version: int = 10
    floor: int = 0  # what happened up to here is compacted away
    objects: dict[str, Json] = field(default_factory=dict)
    history: list[tuple[int, WatchEvent]] = field(default_factory=list)
    snapshots: dict[str, tuple[int, list[Json]]] = field(default_factory=dict)

    def write(self, name: str, text: str = "") -> Json:
        """Create or change an object; the answer of the write."""
        known = self.objects.get(name)
        self.version += 1
        uid = known["metadata"]["uid"] if known else f"{name}-{self.version}"
        obj = config_map(name, uid, self.version, text or f"at {self.version}")
        self.objects[name] = obj
        self.history.append((self.version, WatchEvent("MODIFIED" if known else "ADDED", obj)))
        return copied(obj)

    def delete(self, name: str) -> Json | None:
        """Delete an object; what it was."""
        known = self.objects.pop(name, None)
        if known is not None:
            self.version += 1
            last = copied(known)
            last["metadata"]["resourceVersion"] = str(self.version)
            self.history.append((self.version, WatchEvent("DELETED", last)))
        return known

    def compact(self) -> None:
        """Forget the past: watches and pages from it are refused."""
        self.floor = self.version
        self.snapshots.clear()

    def page(self, token: str, limit: int) -> tuple[list[Json], str, str]:
        """One page of a consistent list: items, version, token of the next."""
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
        """What a watch from a version shows."""
        if version < self.floor:
            raise expired()
        return [
            WatchEvent(event.type, copied(event.object))
            for at, event in self.history
            if at > version
        ]

    def bookmark(self, *, ends_initial: bool = False, version: int | None = None) -> WatchEvent:
        """A bookmark of now."""
        meta: dict[str, Any] = {"resourceVersion": str(version or self.version)}
        if ends_initial:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return WatchEvent("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta})

    def visible(self) -> dict[str, tuple[str, str]]:
        """Name to uid and version, as a cache in step should show it."""
        return {
            name: (obj["metadata"]["uid"], obj["metadata"]["resourceVersion"])
            for name, obj in self.objects.items()
        }


def copied(obj: Json) -> Json:
    """A deep enough copy."""
    return {**obj, "metadata": {**obj["metadata"]}, "data": {**obj["data"]}}


def refusal(status: int) -> ApiError:
    """Any other answer of a server in trouble."""
    return api_error(status, {"reason": "Trouble", "message": "later"}, retry_after=1.0)

"""E17: the whole child is compared and replaced, while another program completes it."""

from datetime import datetime, timedelta

from myrmidon.api import Json
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.actors.actor import Actor, ServerAccess
from myrmidon.apiserver.actors.objects import patch
from myrmidon.apiserver.store import StoredChange
from tests.museum.kit import CONFIG_MAP, Exhibit, Reconciler, editing
from tests.testing.simulation.naive import ref


class WholeObject(Reconciler):
    """Replaces the child whenever it is not exactly as wanted."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap."""
        wanted = {"cfg": obj["spec"]["cfg"]}
        there = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=wanted))
        await self.repair(there, wanted)

    async def repair(self, there: Json, wanted: Json) -> None:
        """Replace the data if they differ."""
        if there.get("data") != wanted:
            await self.client.update(CONFIG_MAP, {**there, "data": wanted})


class OwnFields(WholeObject):
    """Writes its own fields only."""

    async def repair(self, there: Json, wanted: Json) -> None:
        """Patch the fields that differ."""
        if not wanted.items() <= (there.get("data") or {}).items():
            await self.client.patch(ref(CONFIG_MAP, "a"), {"data": wanted})


class Defaulter:
    """Another controller of the cluster: it gives each ConfigMap a default, after a second."""

    def __init__(self) -> None:
        self._due: dict[str, datetime | None] = {}

    def observe(self, change: StoredChange) -> None:
        """Note a ConfigMap without the default."""
        value = change.record.value
        lacks = "zone" not in (value.get("data") or {}) and value["metadata"]["name"] == "a"
        if change.resource == "configmaps" and lacks and not change.deleted:
            self._due.setdefault(change.record.key, None)

    def due(self) -> datetime | None:
        """Return when the next default is due."""
        return min((at for at in self._due.values() if at is not None), default=None)

    def act(self, server: ServerAccess) -> bool:
        """Set the defaults that are due."""
        now = server.core.environment.now()
        wrote = False
        for key, at in list(self._due.items()):
            if at is None:
                self._due[key] = now.replace(microsecond=0) + STEP
            elif at <= now:
                del self._due[key]
                patch(
                    server, "/api/v1/namespaces/default/configmaps/a", {"data": {"zone": "default"}}
                )
                wrote = True
        return wrote


STEP = timedelta(seconds=1)


def _actors() -> list[Actor]:
    return [*cluster_actors(), Defaulter()]


EXHIBIT = Exhibit(
    "E17 defaulting fight",
    "tigera/operator#3480",
    WholeObject,
    OwnFields,
    editing({"cfg": "x"}, {"cfg": "y"}),
    frozenset({"O7", "O2"}),
    actors=_actors,
)

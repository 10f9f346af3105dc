"""E17: the whole child is compared and replaced, while a mutating webhook completes it."""

from itertools import count
from typing import Any

from myrmidon.api import Json
from tests.museum.kit import CONFIG_MAP, Exhibit, Reconciler, editing
from tests.testing.simulation.naive import ref

ADMITTED = "museum.myrmidon.dev/admission"


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


def defaulting(make: Any) -> Any:
    """Return the scenario with a mutating webhook: it sets a default, and marks each admission."""

    async def edited(sim: Any) -> None:
        admissions = count(1)

        def default(obj: Json) -> Json:
            meta = obj["metadata"]
            seen = {**(meta.get("annotations") or {}), ADMITTED: str(next(admissions))}
            data = {"zone": "default", **(obj.get("data") or {})}
            return {**obj, "metadata": {**meta, "annotations": seen}, "data": data}

        sim.webhook("ConfigMap", default)
        sim.ignore("ConfigMap metadata.annotations")
        await editing({"cfg": "x"}, {"cfg": "y"})(make)(sim)

    return edited


EXHIBIT = Exhibit(
    "E17 defaulting fight",
    "tigera/operator#3480",
    WholeObject,
    OwnFields,
    defaulting,
    frozenset({"O7", "O2"}),
)

"""E4: the ConfigMap is written, and then the flag that the pod needs a restart."""

from hashlib import sha256

from myrmidon.api import Json
from tests.museum.kit import (
    CONFIG_MAP,
    POD,
    STATEFUL_SET,
    Exhibit,
    Reconciler,
    editing,
    stateful_set,
)


class ConfigThenFlag(Reconciler):
    """A crash between both writes leaves a pod that never restarts; the end state looks right."""

    children = (CONFIG_MAP, STATEFUL_SET, POD)

    async def reconcile(self, obj: Json) -> None:
        """Write the configuration, and restart the pod if it changed."""
        data = {"cfg": obj["spec"]["cfg"]}
        there = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=data))
        await self.roll(obj)
        if there.get("data") != data:
            await self.client.update(CONFIG_MAP, {**there, "data": data})
            await self.changed(obj)

    async def changed(self, obj: Json) -> None:
        """Note that the pod has to restart."""
        await self.set_status(obj, outOfSync=True)

    async def roll(self, obj: Json) -> None:
        """Restart the pod if that was noted."""
        await self.run_pod(obj, {})
        if (obj.get("status") or {}).get("outOfSync"):
            pod = self.cached(POD, "a-0")
            if pod is not None:
                await self.delete(POD, "a-0", uid=pod["metadata"]["uid"])
            await self.set_status(obj, outOfSync=None)

    async def run_pod(self, obj: Json, annotations: dict[str, str]) -> None:
        """Keep the StatefulSet as it has to be."""
        wanted = stateful_set(1, **annotations)["spec"]
        there = await self.ensure(STATEFUL_SET, self.child(obj, STATEFUL_SET, "a", spec=wanted))
        now = there["spec"]["template"]["metadata"].get("annotations") or {}
        if now != annotations or there["spec"]["replicas"] != 1:
            template = {**there["spec"]["template"], "metadata": wanted["template"]["metadata"]}
            spec = {**there["spec"], "replicas": 1, "template": template}
            await self.client.update(STATEFUL_SET, {**there, "spec": spec})


class Checksum(ConfigThenFlag):
    """The template of the pod has a checksum of the configuration."""

    async def changed(self, obj: Json) -> None:
        """Do nothing: the checksum says it."""

    async def roll(self, obj: Json) -> None:
        """Write the checksum to the template."""
        checksum = sha256(obj["spec"]["cfg"].encode()).hexdigest()[:8]
        await self.run_pod(obj, {"checksum": checksum})


EXHIBIT = Exhibit(
    "E4 config, then flag",
    "konpyutaika/nifikop#49",
    ConfigThenFlag,
    Checksum,
    editing({"cfg": "x"}, {"cfg": "y"}),
    frozenset({"O4"}),
)

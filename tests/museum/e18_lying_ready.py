"""E18: after a conflict, Ready is reported for a spec that was not acted upon."""

from myrmidon.api import Json
from myrmidon.errors import ConflictError
from tests.museum.kit import CONFIG_MAP, Exhibit, Reconciler, Thing, editing


class LyingReady(Reconciler):
    """Reads the object again after a conflict, and reports Ready for what it did not see."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Write the configuration to a ConfigMap, then report Ready."""
        data = {"cfg": obj["spec"]["cfg"]}
        there = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=data))
        if there.get("data") != data:
            await self.client.update(CONFIG_MAP, {**there, "data": data})
        try:
            await self.report(obj)
        except ConflictError:
            await self.after_conflict(obj)

    async def report(self, obj: Json) -> None:
        """Report Ready for the generation of an object."""
        condition = {
            "type": "Ready", "status": "True", "reason": "Done", "message": "",
            "observedGeneration": obj["metadata"]["generation"],
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        await self.set_status(obj, conditions=[condition])

    async def after_conflict(self, obj: Json) -> None:
        """Report again, for the newest version."""
        now = await self.live(Thing.KIND, obj["metadata"]["name"])
        if now is not None:
            await self.report(now)


class HonestReady(LyingReady):
    """Starts again after a conflict."""

    async def after_conflict(self, obj: Json) -> None:
        """Raise the conflict: the pass is repeated with a newer version."""
        raise  # noqa: PLE0704 - inside the handler of the conflict


EXHIBIT = Exhibit(
    "E18 lying Ready",
    "k8ssandra/cass-operator#657, nais/unleasherator#837",
    LyingReady,
    HonestReady,
    editing({"cfg": "x"}, {"cfg": "y"}),
    frozenset({"O8"}),
)

"""E6: a stale `tls: false` deletes the Secret of a Thing that has TLS."""

from myrmidon.api import Json
from tests.museum.kit import SECRET, Exhibit, Reconciler, Thing, editing


class StaleToggle(Reconciler):
    """Believes its cache of Things when it deletes."""

    first_list = "0"
    children = (SECRET,)

    async def reconcile(self, obj: Json) -> None:
        """Keep the Secret if TLS is on; delete it otherwise."""
        if obj["spec"]["tls"]:
            await self.ensure(SECRET, self.child(obj, SECRET, "tls"))
        elif self.cached(SECRET, "tls") is not None:
            await self.switch_off(obj)

    async def switch_off(self, obj: Json) -> None:
        """Delete the Secret."""
        await self.delete(SECRET, "tls")


class LiveToggle(StaleToggle):
    """Reads the Thing again before it deletes."""

    async def switch_off(self, obj: Json) -> None:
        """Delete the Secret if TLS is off now."""
        now = await self.live(Thing.KIND, obj["metadata"]["name"])
        if now is not None and not now["spec"]["tls"]:
            await super().switch_off(obj)


EXHIBIT = Exhibit(
    "E6 stale toggle",
    "yugabyte/yugabyte-operator#35",
    StaleToggle,
    LiveToggle,
    editing({"tls": False}, {"tls": True}),
    frozenset({"O4"}),
)

"""E1: the second Secret is only created together with the first."""

from myrmidon.api import Json
from tests.museum.kit import SECRET, Exhibit, Reconciler, creation


class HalfPair(Reconciler):
    """Creates both Secrets if the first is missing: a crash in between leaves TLS off."""

    children = (SECRET,)

    async def reconcile(self, obj: Json) -> None:
        """Create two Secrets."""
        if self.cached(SECRET, "ssl") is None:
            await self.ensure(SECRET, self.child(obj, SECRET, "ssl"))
            await self.ensure(SECRET, self.child(obj, SECRET, "ssl-internal"))


class BothSecrets(HalfPair):
    """Creates each Secret by itself."""

    async def reconcile(self, obj: Json) -> None:
        """Create each Secret that is missing."""
        await self.ensure(SECRET, self.child(obj, SECRET, "ssl"))
        await self.ensure(SECRET, self.child(obj, SECRET, "ssl-internal"))


EXHIBIT = Exhibit(
    "E1 half pair",
    "percona-xtradb-cluster-operator#1043 (K8SPXC-896)",
    HalfPair,
    BothSecrets,
    creation,
    frozenset({"O1"}),
)

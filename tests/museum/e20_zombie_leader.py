"""E20: a leader that was stopped for longer than its lease goes on writing."""

from itertools import count
from typing import Any

from myrmidon.api import Json
from myrmidon.errors import AlreadyExistsError
from tests.museum.kit import CONFIG_MAP, AgainError, Elected, Exhibit, Thing, thing
from tests.testing.simulation.naive import ref


class ZombieLeader(Elected):
    """Gives each Thing the lowest CIDR that is free in its cache, without a lock."""

    children = (CONFIG_MAP,)

    def __init__(self, identity: str) -> None:
        super().__init__(identity)
        self.given: dict[str, str] = {}
        """What it has given since it leads; its cache may not know that yet."""

    async def reconcile(self, obj: Json) -> None:
        """Give the Thing a CIDR."""
        if not (obj.get("status") or {}).get("cidr"):
            await self.assign(obj)

    async def assign(self, obj: Json) -> None:
        """Pick a free CIDR and write it, whoever leads and whatever was written meanwhile."""
        cidr = self.free(obj)[0]
        self.given[obj["metadata"]["name"]] = cidr
        where = ref(Thing.KIND, obj["metadata"]["name"])
        await self.client.patch(where, {"status": {"cidr": cidr}}, subresource="status")

    def free(self, obj: Json) -> list[str]:
        """Return the CIDRs that no other Thing has, as far as this process knows."""
        name = obj["metadata"]["name"]
        known = [one for one in self.caches["Thing"].values() if one["metadata"]["name"] != name]
        used = {(one.get("status") or {}).get("cidr") for one in known}
        used |= {cidr for other, cidr in self.given.items() if other != name}
        return [cidr for cidr in CIDRS if cidr not in used]


class FencedLeader(ZombieLeader):
    """Checks its lease before each write, and claims a CIDR by creating an object of its name."""

    async def assign(self, obj: Json) -> None:
        """Claim a CIDR, then write it to the version that was read."""
        await self.require_current(obj)
        for cidr in self.free(obj):
            holder = await self.claimed(obj, cidr)
            if holder == obj["metadata"]["uid"]:
                self.check_lease()
                self.given[obj["metadata"]["name"]] = cidr
                await self.set_status(obj, cidr=cidr)
                return

    async def claimed(self, obj: Json, cidr: str) -> str:
        """Return the uid of the Thing that has a CIDR: this one, if it was free."""
        self.check_lease()
        name = f"cidr-{cidr}"
        there = self.cached(CONFIG_MAP, name)
        if there is not None:
            return str(there["metadata"]["ownerReferences"][0]["uid"])
        try:
            made = await self.create(CONFIG_MAP, self.child(obj, CONFIG_MAP, name))
        except AlreadyExistsError:
            found = await self.live(CONFIG_MAP, name)
            if found is None:
                raise AgainError("the claim is just gone") from None
            made = found
        return str(made["metadata"]["ownerReferences"][0]["uid"])

    def check_lease(self) -> None:
        """Raise if the lease may have ended."""
        if self.clock.monotonic() >= self.leads_until:
            raise AgainError("the lease may have ended")


CIDRS = tuple(f"10.0.{number}.0" for number in range(9))


def allocation(make: Any) -> Any:
    """Return the scenario of four Things and two replicas of the allocator."""

    async def allocated(sim: Any) -> None:
        numbers = count()
        sim.controller(lambda: make(f"allocator-{next(numbers)}"), replicas=2)
        sim.never("two Things have one CIDR", shared)
        sim.ignore("Thing status.cidr")  # which Thing gets which CIDR depends on the order
        sim.retains("ConfigMap")
        await sim.settle()
        for name in "dcba":  # a new leader sees them in another order
            await sim.user.create(thing(name))
        await sim.settle()

    return allocated


def shared(world: Any) -> bool:
    """Whether two Things have the same CIDR."""
    found = [(one.get("status") or {}).get("cidr") for one in world.list("Thing")]
    given = [one for one in found if one]
    return len(given) > len({*given})


EXHIBIT = Exhibit(
    "E20 zombie leader",
    "cilium/cilium#42920",
    ZombieLeader,
    FencedLeader,
    allocation,
    frozenset({"O10", "O12"}),
)

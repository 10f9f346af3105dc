"""X1: the ledger entry is on the server before the create that it announces."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.testing import (
    Crash,
    ExternalStandIn,
    Fault,
    Harness,
    Lose,
    Refuse,
    Script,
    Status,
    is_write,
)
from tests.runtime.claims import ByToken, Claim, Claims, claim

FAULTS = st.sampled_from([Crash(), Crash(acted=True), Lose(), Refuse(), Status(503)])
PLANS = st.dictionaries(st.integers(1, 10), FAULTS, max_size=5)


class LookingAtTheServer(ExternalStandIn):
    """Notes, for each create, the token and the ledger entry that the API server has then."""

    cluster: Harness

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.noted: list[tuple[str, Json]] = []

    async def create(self, body: Json, token: str) -> str:
        """Create a resource, after a look at the stored object."""
        (stored,) = [one for one in self.cluster.stored() if one["kind"] == "Claim"]
        self.noted.append((token, stored.get("status", {}).get("externals", {}).get("store", {})))
        return await super().create(body, token)


@settings(max_examples=30)
@given(writes=PLANS, calls=PLANS)
def test_x1_the_entry_is_stored_before_the_resource_is_created(
    writes: dict[int, Fault], calls: dict[int, Fault]
) -> None:
    """The entry is Pending and has the token of the create, whatever was lost before."""
    system = LookingAtTheServer(faults=Script(calls))
    with Harness(Claims(ByToken(system)), faults=Script(writes, is_write)) as cluster:
        system.cluster, system.crash = cluster, cluster.crash
        cluster.apply(claim())
        cluster.settle()
        while cluster.crashed:
            cluster.restart()
            cluster.settle()

        assert cluster.ready(Claim, "it")
        assert system.noted
        for token, entry in system.noted:
            assert (entry.get("state"), entry.get("token")) == ("Pending", token)

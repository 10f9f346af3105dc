"""C6, C11, C12, W4 on a real server: the effect of our JSON patches, and the recorded managers."""

from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.request import Patch
from myrmidon.fsm import Done, Result
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import LiveCluster
from tests.runtime.reconcile.test_former_conditions import Renamed
from tests.runtime.things import Thing, Things, thing
from tests.runtime.webapps import cluster_role

SCANNED = {"type": "Scanned", "status": "True", "reason": "Clean", "message": ""}


def test_another_client_that_writes_between_our_read_and_our_write(kubeconfig: Path) -> None:
    """The finalizer, the record and the status are written; its condition and finalizer survive."""
    meddled: list[int] = []

    async def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        if not meddled:
            meddled.append(1)
            await meddle(it)
        out.apply(cluster_role(f"wide-{it.namespace}"), owner_refs=False)
        return Done()

    async def meddle(it: Thing) -> None:
        user: Any = cluster._user
        await user.patch(it.ref, {"metadata": {"finalizers": ["other.dev/theirs"]}})
        scanned = {"status": {"conditions": [SCANNED]}}
        await user.patch(it.ref, scanned, subresource="status", field_manager="scan")

    async def meddle_again(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        if len(meddled) == 1:
            meddled.append(2)
            user: Any = cluster._user
            beat = [{"op": "add", "path": "/metadata/annotations", "value": {"beat": "1"}}]
            await user.patch(it.ref, beat, patch=Patch.JSON)
        return Done()

    with LiveCluster(Things(act, meddle_again), kubeconfig=kubeconfig) as cluster:
        cluster.apply(thing())
        cluster.settle()
        it = cluster.require(Thing, "it")
        found: dict[str, Json] = {one["type"]: one for one in it.raw["status"]["conditions"]}
        assert cluster.ready(Thing, "it")
        assert found["Scanned"] == SCANNED
        assert list(it.finalizers) == ["other.dev/theirs", "test.myrmidon.dev/thing"]
        sent = [one.status for one in cluster.writes if one.path.endswith("/status")]
        assert 409 in sent, "the party was faster at least once"
        assert cluster.get(kinds.CLUSTER_ROLE, f"wide-{cluster.namespace}") is not None

        cluster._controllers = (Renamed(),)  # a new version of the program
        cluster.restart()
        cluster.settle()
        after = cluster.require(Thing, "it").raw["status"]["conditions"]
        assert sorted(one["type"] for one in after) == ["Begun", "Ready", "Scanned"]
        cluster.patch(Thing, "it", {"metadata": {"finalizers": ["test.myrmidon.dev/thing"]}})
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CLUSTER_ROLE, f"wide-{cluster.namespace}") is None


@pytest.mark.parametrize("prune", [False, True])
def test_children_of_a_kind_that_is_no_longer_managed(kubeconfig: Path, prune: bool) -> None:
    """Discovery finds the resource name of a kind that is not declared."""

    class Fewer(Things):
        name = "thing"
        manages = (kinds.CONFIG_MAP,)

    def wide(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(cluster_role(f"wide-{it.namespace}"), owner_refs=False)
        return Done()

    with LiveCluster(Things(wide, prune=prune), kubeconfig=kubeconfig) as cluster:
        cluster.apply(thing())
        cluster.settle()
        role = f"wide-{cluster.namespace}"
        assert cluster.get(kinds.CLUSTER_ROLE, role) is not None
        cluster._controllers = (Fewer(prune=prune),)  # a new version of the program
        cluster.restart()
        cluster.settle()
        assert (cluster.get(kinds.CLUSTER_ROLE, role) is None) is prune
        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CLUSTER_ROLE, role) is None

"""Watches on another cluster."""

import pytest

from myrmidon.api import Json, Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import UsageError
from myrmidon.fsm import Context, Controller, Done, Result, Watch, state
from myrmidon.runtime import Manager
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, run


class MirrorSpec(Model):
    """An empty spec."""


class Mirror(Resource[MirrorSpec, Status], group="demo.myrmidon.dev", version="v1"):
    """A resource whose status lists the causes of its passes."""


class Mirrors(Controller[Mirror]):
    """Is woken by ConfigMaps of another cluster."""

    watches = (Watch(kinds.CONFIG_MAP, to=lambda obj: [obj["metadata"]["name"]], remote="east"),)

    def __init__(self) -> None:
        self.causes: list[str] = []

    @state(initial=True, condition="Seen")
    def seen(self, mirror: Mirror, out: OutputSet, ctx: Context) -> Result:
        """Its pass is recorded."""
        self.causes += [f"{cause.relation} {cause.event}" for cause in ctx.cause]
        return Done()


def config_map(name: str) -> Json:
    """A ConfigMap of the other cluster."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    }


def test_a_change_in_another_cluster_wakes_ours() -> None:
    """Its objects are mapped to ours, and none of its kinds is listed in our own cluster."""
    east, mirrors = ApiServer(), Mirrors()
    with Harness(mirrors, remotes={"east": LocalTransport(east)}) as cluster:
        cluster.apply(Mirror(name="a", spec=MirrorSpec()))
        cluster.settle()
        assert mirrors.causes == ["self create"]

        assert east.create(config_map("a")) == ""
        cluster.settle()

        assert mirrors.causes == ["self create", "relative create"]
        asked = [str(one) for one in cluster.transport.log if not one.cluster]
        assert not any("configmaps" in one for one in asked)


def test_an_unknown_cluster_is_an_error_with_a_fix() -> None:
    """It is raised before anything runs."""
    server = ApiServer()
    manager = Manager(transport=LocalTransport(server))
    manager.add(Mirrors())
    from myrmidon.generate import crd  # noqa: PLC0415 - only here

    assert server.create(crd(Mirror)) == ""
    with pytest.raises(UsageError) as caught:
        run(manager.run())

    assert str(caught.value) == (
        "Mirrors needs the cluster 'east', which the manager does not know (it knows: none).\n"
        "  fix: manager.add_remote('east', transport), or `myrmidon run --remote east=CONTEXT`"
    )

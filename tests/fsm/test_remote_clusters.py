"""What a controller says about remote clusters, and how their absence is reported."""

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import RemoteUnavailableError, UnknownClusterError
from myrmidon.fsm import Context, Controller, Done, Reads, Result, Watch, state
from myrmidon.fsm.machine.results import failure_of
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.fsm.status.status import reference
from myrmidon.sets import OutputSet
from tests.fsm.things import Thing


class Spread(Controller[Thing]):
    """Uses three clusters in three ways."""

    manages = (kinds.CONFIG_MAP, kinds.CONFIG_MAP.at("edge"))
    reads = (kinds.SERVICE.at("vault"), Reads(kinds.SECRET.at("edge"), cached=False))
    watches = (
        Watch(kinds.POD, to=lambda _pod: [], remote="far"),
        Watch(kinds.SERVICE, to=lambda _service: []),
    )

    @state(initial=True)
    def only(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """Nothing to do."""
        return Done()


def test_the_clusters_of_a_controller() -> None:
    """Each cluster is listed once, however many uses it has."""
    assert clusters_of(Spread) == ("edge", "vault", "far")


def test_a_recorded_child_names_its_cluster() -> None:
    """A child at home does not: without remote clusters the record does not change."""
    far = reference(ObjectRef(kinds.CONFIG_MAP.at("edge"), "a", "default"))
    assert far == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "namespace": "default",
        "cluster": "edge",
    }
    assert "cluster" not in reference(ObjectRef(kinds.CONFIG_MAP, "a", "default"))


def test_a_state_that_reads_an_unreachable_cluster_is_retried() -> None:
    """It fails with a reason of its own, and without a traceback."""
    failed = failure_of(RemoteUnavailableError("edge", "Secret", "connection refused"))
    assert (failed.reason, failed.retry) == ("ClusterUnavailable", True)
    assert (
        "Secret on the cluster edge could not be listed yet: connection refused" in failed.message
    )
    assert "yet;" in str(RemoteUnavailableError("edge", "Secret"))


def test_a_cluster_that_is_no_longer_declared_is_named_with_a_fix() -> None:
    """The message has the command that frees the object."""
    said = str(UnknownClusterError("ConfigMap@edge default/a", "edge"))
    assert "no longer manages that kind on the cluster 'edge'" in said
    assert "fix: declare the kind and the cluster again" in said

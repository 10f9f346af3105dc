"""Tests of ConfigCopies, as a user of myrmidon would write them."""

from examples.config_copy.controller import ConfigCopies, ConfigCopy, ConfigCopySpec
from myrmidon import kinds
from myrmidon.testing.pytest_plugin import MakeCluster


def test_copies_follow_their_source(harness: MakeCluster) -> None:
    """A change reaches every copy; when a namespace leaves the list, its copy is deleted."""
    cluster = harness(ConfigCopies())
    ours, theirs = cluster.add_namespace("ours"), cluster.add_namespace("theirs")
    source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    cluster.apply(source | {"data": {"level": "info"}})
    cluster.apply(ConfigCopy(name="settings", spec=ConfigCopySpec(namespaces=[ours, theirs])))
    cluster.settle()
    assert cluster.ready(ConfigCopy, "settings")

    cluster.apply(source | {"data": {"level": "debug"}})
    cluster.patch(ConfigCopy, "settings", {"spec": {"namespaces": [ours]}})
    cluster.settle()
    assert cluster.require(kinds.CONFIG_MAP, "settings", ours)["data"] == {"level": "debug"}
    assert cluster.get(kinds.CONFIG_MAP, "settings", theirs) is None
    cluster.at_rest()

"""Kinds and references."""

import pytest

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind, ObjectRef, split_api_version


def test_a_kind_knows_its_path() -> None:
    """The core group has another root and no prefix."""
    assert kinds.CONFIG_MAP.api_version == "v1"
    assert kinds.CONFIG_MAP.root == "/api/v1"
    assert str(kinds.CONFIG_MAP) == "ConfigMap"
    assert kinds.DEPLOYMENT.api_version == "apps/v1"
    assert kinds.DEPLOYMENT.root == "/apis/apps/v1"
    assert str(kinds.DEPLOYMENT) == "Deployment.apps"


@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: f"{kind.kind}.{kind.api_version}")
def test_api_version_splits_into_group_and_version(kind: Kind) -> None:
    """A joined apiVersion is split again."""
    assert split_api_version(kind.api_version) == (kind.group, kind.version)


def test_reference_prints_as_people_say_it() -> None:
    """Cluster-scoped objects have no namespace to print."""
    assert str(ObjectRef(kinds.CONFIG_MAP, "a", "default")) == "ConfigMap default/a"
    assert str(ObjectRef(kinds.NAMESPACE, "default")) == "Namespace default"


def test_well_known_kinds_are_distinct() -> None:
    """No kind is listed twice, and cluster-scoped ones are marked."""
    assert len({kind[:3] for kind in kinds.ALL}) == len(kinds.ALL)
    assert len({(kind.group, kind.version, kind.plural) for kind in kinds.ALL}) == len(kinds.ALL)
    assert kinds.NAMESPACE in kinds.ALL
    assert not kinds.NAMESPACE.namespaced
    assert not kinds.CUSTOM_RESOURCE_DEFINITION.namespaced

"""``Harness(run_as=...)``: controllers with the rights of a user or of their generated role."""

from pathlib import Path
from typing import Any

import pytest

from examples.config_copy.controller import ConfigCopies, ConfigCopy
from examples.web_app.controller import WebApp, WebApps
from myrmidon.errors import MyrmidonError
from myrmidon.generate.manifests import rbac
from myrmidon.runtime import ManagerOptions
from myrmidon.testing import Harness, NotSettledError, User

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = [(WebApps, WebApp, "web_app"), (ConfigCopies, ConfigCopy, "config_copy")]


@pytest.mark.parametrize(("controller", "kind", "folder"), SAMPLES)
@pytest.mark.parametrize("leader_election", [False, True])
def test_the_generated_role_is_enough(
    controller: Any, kind: Any, folder: str, *, leader_election: bool
) -> None:
    """The sample becomes Ready and is deleted with only the generated rights."""
    options = ManagerOptions(seed=0, leader_election=leader_election)
    with Harness(controller(), run_as="generated-role", options=options) as cluster:
        applied = cluster.apply_file(EXAMPLES / folder / "sample.yaml")
        names = [each["metadata"]["name"] for each in applied if each["kind"] == kind.KIND.kind]
        cluster.settle()
        assert names
        assert all(cluster.ready(kind, name) for name in names)
        for name in names:
            cluster.delete(kind, name)
        cluster.settle()
        assert not cluster.list(kind)
        assert cluster.writes


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_a_right_that_the_role_lacks_fails_the_test(
    monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The server's message names the verb, the resource and the ServiceAccount."""
    managing, account = rbac._managing, "system:serviceaccount:default:controllers"
    monkeypatch.setattr(rbac, "_managing", lambda *of: [v for v in managing(*of) if v != verb])
    with Harness(WebApps(), run_as="generated-role") as cluster:
        cluster.apply_file(EXAMPLES / "web_app" / "sample.yaml")
        if verb == "patch":
            cluster.settle()
            cluster.patch(WebApp, "shop", {"spec": {"replicas": 7}})
        with pytest.raises(NotSettledError, match=rf"{account}\" cannot {verb} resource"):
            cluster.settle()


def test_a_user_without_rights_is_refused_at_the_start() -> None:
    """Preflight says which right is missing."""
    with (
        pytest.raises(MyrmidonError, match="jane"),
        Harness(WebApps(), run_as=User("jane")) as all_,
    ):
        all_.settle()

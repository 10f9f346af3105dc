"""kubectl prints the same, whether it talks to our server or to the real one.

``kubectl-1.36.txt`` is what kubectl 1.36 printed when it talked to kube-apiserver v1.36.4 with the
garbage collector and the controllers of namespaces and service accounts; ``python -m tests.cluster.record_kubectl`` writes it.
"""

from pathlib import Path

import pytest

from tests.apiserver.clients.commands import server
from tests.apiserver.clients.kubectl import (
    Kubectl,
    NoKubectlError,
    differences,
    find_kubectl,
    read_transcript,
    transcript_of,
)

TOKENS = ("--token", "admin-token", "--user", "dev-token=dev:devs")


@pytest.fixture(scope="module")
def kubectl() -> Path:
    """Return a kubectl; skip the test without a transcript for its version."""
    try:
        found = find_kubectl()
    except NoKubectlError as error:
        pytest.skip(str(error))
    if not transcript_of(found).exists():
        pytest.skip(f"there is no transcript for this version of kubectl: {found}")
    return found


def test_kubectl_prints_what_the_real_server_makes_it_print(kubectl: Path, tmp_path: Path) -> None:
    """Over HTTPS, because kubectl sends a token only over HTTPS."""
    with server(tmp_path, "--tls", *TOKENS) as served:
        transcript = Kubectl(kubectl, served.kubeconfig, tmp_path).play()

    assert differences(read_transcript(kubectl), transcript) == {}


def test_kubectl_needs_no_token_where_there_is_none(kubectl: Path, tmp_path: Path) -> None:
    """A server without tokens is easy to try out, over plain HTTP."""
    manifest = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"a":"b"}}'
    with server(tmp_path) as served:
        asker = Kubectl(kubectl, served.kubeconfig, tmp_path)
        steps = [
            asker.take(step)
            for step in (
                {"run": "apply -f -", "stdin": manifest},
                {"run": "apply --server-side -f -", "stdin": manifest},
                {"run": "get configmap plain -o jsonpath={.data.a}"},
                {"run": "delete configmap plain"},
            )
        ]

    assert served.url.startswith("http://")
    assert [step.exit_code for step in steps] == [0, 0, 0, 0]
    assert steps[2].output == "b"

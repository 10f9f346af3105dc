"""The twin of ``tests/apiserver/clients/test_kubectl.py``, at the real server."""

import pytest

from tests.apiserver.clients.kubectl import (
    NoKubectlError,
    differences,
    find_kubectl,
    read_transcript,
)
from tests.cluster.controlplane.binaries import UnavailableError
from tests.cluster.record_kubectl import play


def test_kubectl_prints_what_was_recorded() -> None:
    """Our server is compared with the record, so the record must be correct."""
    try:
        kubectl = find_kubectl()
        transcript = play(kubectl)
    except (NoKubectlError, UnavailableError) as error:
        pytest.skip(str(error))

    assert differences(read_transcript(kubectl), transcript) == {}

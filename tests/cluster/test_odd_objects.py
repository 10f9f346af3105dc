"""Odd objects of built-in kinds: a real server and the embedded one say the same."""

import json

import pytest

from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.record_odd_objects import RECORDED, asked, said
from tests.cluster.twins import Twins

CASES = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", CASES)
def test_an_object(controlplane: ControlPlane, name: str) -> None:
    """The status, the message and the warnings of a dry run are the same."""
    theirs, ours, _ = Twins(controlplane, ApiServer()).ask(asked(CASES[name]))
    assert said(ours) == said(theirs)

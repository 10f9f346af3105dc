"""Recorded sessions of the real server, replayed on ours."""

import pytest

from myrmidon.apiserver.server import ApiServer
from tests.apiserver.differential.lines import OwnLine
from tests.apiserver.differential.pairing import Pairing
from tests.apiserver.differential.sessions import USERS, Run, Session, differences, read_sessions


@pytest.mark.parametrize("session", read_sessions(), ids=str)
def test_the_server_responds_as_recorded(session: Session) -> None:
    """Every step responds as recorded, except for exactly those that are marked."""
    run = Run(session, OwnLine(ApiServer(users=USERS, rbac=True)))
    run.prepare(session.crds)
    pairing, wrong = Pairing(), {}
    for number, step in enumerate(session.steps, 1):
        found = differences(pairing, step, run)
        if bool(found) != bool(step.get("differs")):
            wrong[f"{number} {step['method']} {step['path']}"] = found or "does not differ any more"
    assert not wrong

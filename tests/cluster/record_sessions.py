# ruff: noqa: T201 - a command prints
"""Records the sessions again: ``python -m tests.cluster.record_sessions``.

Takes the requests of the file, asks a real server without controllers, and marks the steps that our
server answers in another way.
"""

import time
import uuid
from typing import Any

from myrmidon.apiserver.server import ApiServer
from tests.apiserver.conformance.scenarios import definitions
from tests.apiserver.differential.lines import OwnLine, RealLine
from tests.apiserver.differential.pairing import Pairing
from tests.apiserver.differential.sessions import (
    USERS,
    Run,
    Session,
    differences,
    read_sessions,
    recorded,
    write_sessions,
)
from tests.cluster.controlplane.binaries import find
from tests.cluster.controlplane.controlplane import ControlPlane

SECONDS_TO_SERVE = 1.5  # until new definitions are served, and changed roles are known


def record(session: Session, real: RealLine) -> Session:
    """Record a session with new responses."""
    run_id = f"t{uuid.uuid4().hex[:8]}"
    run = Run(session, real, run_id)
    run.prepare(session.crds)
    await_served(run, session.crds)
    steps: list[dict[str, Any]] = []
    for step in session.steps:
        time.sleep(step.get("wait", 0))  # noqa: TID251 - as above
        if "until" in step:
            steps.append({**step, "events": run.events(step)})
        else:
            steps.append({**step, "answer": recorded(run.answer(step))})
    return mark(Session(session.name, run_id, session.crds, steps))


def await_served(run: Run, crds: list[Any]) -> None:
    """Wait until new definitions are served, and a little longer for their watch caches."""
    for short in crds:
        whole = definitions()[short] if isinstance(short, str) else short
        path = f"/apis/${{group}}/v1/{whole['kind'].lower()}s"
        step = {"method": "GET", "path": path, "headers": {"authorization": "Bearer admin-token"}}
        for _ in range(100):
            time.sleep(0.1)  # noqa: TID251 - the real server takes real time
            if run.answer(step).status == 200:
                break
    time.sleep(SECONDS_TO_SERVE)  # noqa: TID251 - as above


def mark(session: Session) -> Session:
    """Return the session with marks at the steps that our server answers differently."""
    run = Run(session, OwnLine(ApiServer(users=USERS, rbac=True)))
    run.prepare(session.crds)
    pairing, steps = Pairing(), []
    for number, step in enumerate(session.steps, 1):
        kept = {key: value for key, value in step.items() if key != "differs"}
        found = differences(pairing, step, run)
        if found:
            print(f"{session.name} {number} {step['method']} {step['path']}: {found[0][:300]}")
            kept["differs"] = True
        steps.append(kept)
    return Session(session.name, session.id, session.crds, steps)


def main() -> None:
    """Record all."""
    with ControlPlane(find()) as plane:
        real = RealLine(plane.port, plane.ca)
        sessions = [record(session, real) for session in read_sessions()]
        real.close()
    write_sessions(sessions)
    steps = [step for session in sessions for step in session.steps]
    differing = sum("differs" in step for step in steps)
    print(f"{len(steps)} steps, {differing} of them differ")


if __name__ == "__main__":
    main()

"""Random sessions on the embedded server and on the real one: same responses, same events.

Controllers would write at times of their own, so the real server has none here, and ours no
actors. ``HYPOTHESIS_PROFILE=explore`` plays other and longer sessions.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from myrmidon.apiserver.server import ApiServer
from tests.apiserver.conformance import places
from tests.apiserver.differential import moves
from tests.apiserver.differential.lines import OwnLine, RealLine
from tests.apiserver.differential.moves import KINDS, step
from tests.apiserver.differential.pairing import Pairing
from tests.apiserver.differential.sessions import USERS, Run, Session
from tests.cluster.controlplane.binaries import UnavailableError, find
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.record_sessions import await_served

GROUP_ID = "game"
DEFINED = ["widget", "rack", "fleet"]


class Table:
    """Both servers, with the definitions installed."""

    def __init__(self, plane: ControlPlane) -> None:
        self.lines = RealLine(plane.port, plane.ca), OwnLine(ApiServer(users=USERS, rbac=True))
        self.games = itertools.count()
        for line in self.lines:
            run = Run(Session("", GROUP_ID, [], []), line)
            run.prepare(DEFINED)
            if line is self.lines[0]:
                await_served(run, DEFINED)


class Game(RuleBasedStateMachine):
    """A session in a namespace of its own."""

    table: Table

    def __init__(self) -> None:
        super().__init__()
        self.pairing = Pairing()
        self.history: list[str] = []

    @initialize()
    def begin(self) -> None:
        """Create a namespace, and record where its watches will begin."""
        namespace = f"{GROUP_ID}-{next(self.table.games)}"
        self.runs = [
            Run(Session("", GROUP_ID, [], []), line, namespace=namespace)
            for line in self.table.lines
        ]
        self.play(step("POST", "/api/v1/namespaces", body={"metadata": {"name": "${ns}"}}))
        for kind, (path, _, _) in KINDS.items():
            begun = step("GET", path)
            begun["capture"] = {f"begin-{kind}": "metadata.resourceVersion"}
            self.play(begun)

    def play(self, move: dict[str, Any]) -> None:
        """Send a request to both servers, and compare."""
        answers = [run.answer(move) for run in self.runs]
        self.history.append(f"{move} -> {answers[0].status}")
        found = self.pairing.differences(*answers)
        assert not found, "\n".join([*found, *self.history])

    def know(self, kind: str, name: str) -> None:
        """Read an object, and remember its version beside the previous one."""
        for run in self.runs:
            before = run.values.get(f"current-{kind}-{name}", "2")
            move = step("GET", f"{KINDS[kind][0]}/{name}")
            move["capture"] = {"seen": "metadata.resourceVersion"}
            run.answer(move)
            seen = run.values["seen"]
            if seen is not places.ABSENT and seen != before:
                run.values[f"older-{kind}-{name}"] = before
                run.values[f"current-{kind}-{name}"] = seen

    def version(self, kind: str, name: str, which: str) -> dict[str, str]:
        """Return the resourceVersion that a write names."""
        key = f"{which}-{kind}-{name}"
        if which in {"current", "older"}:
            self.know(kind, name)
            return {"resourceVersion": f"${{{key}}}"} if key in self.runs[0].values else {}
        return {"resourceVersion": which} if which else {}

    @rule(
        data=st.data(),
        kind=st.sampled_from(sorted(KINDS)),
        dry=moves.DRY_RUN,
        strict=moves.VALIDATION,
    )
    def create(self, data: st.DataObject, kind: str, dry: Any, strict: Any) -> None:
        """POST."""
        body = data.draw(moves.objects(kind))
        self.play(step("POST", KINDS[kind][0], body=body, query=dry + strict))

    @rule(
        data=st.data(), kind=st.sampled_from(sorted(KINDS)), dry=moves.DRY_RUN, which=moves.VERSIONS
    )
    def update(self, data: st.DataObject, kind: str, dry: Any, which: str) -> None:
        """PUT."""
        body = data.draw(moves.objects(kind))
        name = body["metadata"]["name"]
        meta = body["metadata"] | self.version(kind, name, which)
        path = f"{KINDS[kind][0]}/{name}"
        self.play(step("PUT", path, body=body | {"metadata": meta}, query=dry))

    @rule(
        data=st.data(),
        kind=st.sampled_from(sorted(KINDS)),
        name=moves.NAMES,
        dry=moves.DRY_RUN,
        below=st.sampled_from(["", "", "", "/status", "/scale"]),
    )
    def patch(self, data: st.DataObject, kind: str, name: str, dry: Any, below: str) -> None:
        """PATCH, of three types."""
        media, patch = data.draw(moves.patches(kind))
        path = f"{KINDS[kind][0]}/{name}{below}"
        self.play(step("PATCH", path, body=patch, media=media, query=dry))

    @rule(
        data=st.data(),
        kind=st.sampled_from(sorted(KINDS)),
        manager=moves.MANAGERS,
        force=st.booleans(),
        dry=moves.DRY_RUN,
    )
    def apply(self, data: st.DataObject, kind: str, manager: str, force: bool, dry: Any) -> None:
        """Server-side apply."""
        body = data.draw(moves.objects(kind))
        query = [["fieldManager", manager], *([["force", "true"]] if force else []), *dry]
        path = f"{KINDS[kind][0]}/{body['metadata']['name']}"
        self.play(step("PATCH", path, body=body, media=moves.APPLY, query=query))

    @rule(
        kind=st.sampled_from(sorted(KINDS)),
        name=moves.NAMES,
        policy=moves.POLICIES,
        which=moves.VERSIONS,
        dry=moves.DRY_RUN,
    )
    def delete(self, kind: str, name: str, policy: str, which: str, dry: Any) -> None:
        """DELETE, with preconditions."""
        body: dict[str, Any] = {"propagationPolicy": policy} if policy else {}
        version = self.version(kind, name, which)
        if version:
            body["preconditions"] = version
        if dry:
            body["dryRun"] = ["All"]
        self.play(step("DELETE", f"{KINDS[kind][0]}/{name}", body=body))

    @rule(kind=st.sampled_from(sorted(KINDS)), selector=moves.SELECTORS, dry=moves.DRY_RUN)
    def delete_collection(self, kind: str, selector: Any, dry: Any) -> None:
        """DELETE of many; rarely of all, as that would end the session."""
        if selector and kind != "Service":
            self.play(step("DELETE", KINDS[kind][0], query=selector + dry))

    @rule(kind=st.sampled_from(sorted(KINDS)), name=moves.NAMES, form=moves.FORMS)
    def get(self, kind: str, name: str, form: str) -> None:
        """GET."""
        self.play(step("GET", f"{KINDS[kind][0]}/{name}", accept=form))

    @rule(kind=st.sampled_from(sorted(KINDS)), selector=moves.SELECTORS, form=moves.FORMS)
    def list(self, kind: str, selector: Any, form: str) -> None:
        """LIST."""
        self.play(step("GET", KINDS[kind][0], query=selector, accept=form))

    @rule(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
    def list_in_pages(self, data: st.DataObject, kind: str) -> None:
        """LIST page by page, with writes in between."""
        first = step("GET", KINDS[kind][0], query=[["limit", "1"]])
        first["capture"] = {"next": "metadata.continue"}
        self.play(first)
        if self.runs[0].values["next"] not in {"", places.ABSENT}:
            body = data.draw(moves.objects(kind))
            self.play(step("POST", KINDS[kind][0], body=body))
            self.play(step("GET", KINDS[kind][0], query=[["limit", "1"], ["continue", "${next}"]]))

    def teardown(self) -> None:
        """Check that watches from the beginning show the same events."""
        if not hasattr(self, "runs"):
            return
        for kind, (path, api_version, contents) in KINDS.items():
            last = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "last"}}
            self.play(step("POST", path, body=last | contents[0] | {"metadata": last["metadata"]}))
            for selector in ([], [["fieldSelector", "metadata.name!=a"]]):
                query = [["watch", "1"], ["resourceVersion", f"${{begin-{kind}}}"], *selector]
                move = step("GET", path, query=[*query, ["timeoutSeconds", "10"]]) | {
                    "until": "last"
                }
                found = self.pairing.event_differences(*(run.events(move) for run in self.runs))
                assert not found, "\n".join([kind, *found, *self.history])
        self.give_back_addresses()

    def give_back_addresses(self) -> None:
        """Delete the services: there are not enough addresses for all sessions."""
        released = {"metadata": {"finalizers": None}}
        for run, name in itertools.product(self.runs, ("a", "b", "c", "last")):
            path = f"{KINDS['Service'][0]}/{name}"
            run.answer(step("DELETE", path))
            run.answer(step("PATCH", path, body=released, media=moves.MERGE))


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """Return a real server without controllers, and ours without actors."""
    try:
        binaries = find()
    except UnavailableError as error:
        pytest.skip(str(error))
    with ControlPlane(binaries) as plane:
        yield Table(plane)


def test_both_servers_respond_alike_in_random_sessions(table: Table) -> None:
    """Every response and every event is compared."""
    Game.table = table
    explores = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
    run_state_machine_as_test(
        Game,
        settings=settings(
            max_examples=2000 if explores else 100,
            stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )

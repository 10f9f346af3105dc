"""`myrmidon release`: removes our finalizer from an object, and lists the children that stay."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json, finalizers_of
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.commands import release
from myrmidon.cli.main import main
from myrmidon.errors import UsageError
from myrmidon.generate import crd
from myrmidon.io.client import Client
from tests.cli.test_front_door import cluster
from tests.runtime.things import Thing, config_map

REF = ObjectRef(Thing.KIND, "it", "default")
OURS, OLD, OTHER = "test.myrmidon.dev/thing", "test.myrmidon.dev/former", "other.dev/theirs"


def deleting(*finalizers: str) -> Json:
    """Build an object that waits for its finalizers."""
    meta = {"name": "it", "namespace": "default", "finalizers": list(finalizers)}
    return {"metadata": {**meta, "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def test_the_finalizers_of_the_group_are_chosen() -> None:
    """Also one of a former name of the controller; another party's only if it is named."""
    obj = deleting(OTHER, OURS, OLD)
    assert release.chosen(REF, obj, []) == [OURS, OLD]
    assert release.chosen(REF, obj, [OTHER]) == [OTHER]


@pytest.mark.parametrize(
    ("obj", "named", "said"),
    [
        ({"metadata": {"finalizers": [OURS]}}, [], "is not being deleted"),
        (deleting(OTHER), [], "has no finalizer that begins with test.myrmidon.dev/"),
        (deleting(OTHER), [OURS], f"has no finalizer {OURS}; it has {OTHER}"),
    ],
)
def test_objects_that_cannot_be_released(obj: Json, named: list[str], said: str) -> None:
    """One sentence with the reason, one with the fix."""
    with pytest.raises(UsageError, match="fix: ") as raised:
        release.chosen(REF, obj, named)
    assert said in str(raised.value)


class Meddling:
    """Another party inserts a finalizer before each of our first writes."""

    def __init__(self, server: ApiServer, times: int) -> None:
        self._server, self._inner, self._left = server, LocalTransport(server), times

    async def send(self, request: HttpRequest, *, deadline: float | None = None) -> HttpResponse:
        """Insert the finalizer, then send."""
        if request.method == "PATCH" and self._left:
            self._left -= 1
            path = "/api/v1/namespaces/default/configmaps/held"
            edit: Any = [
                {"op": "add", "path": "/metadata/finalizers/0", "value": f"x.dev/{self._left}"}
            ]
            answer = self._server.request(
                "PATCH", path, edit, content_type="application/json-patch+json"
            )
            assert answer.status == 200
        return await self._inner.send(request, deadline=deadline)


@pytest.mark.parametrize(("times", "removed"), [(0, True), (3, True), (9, False)])
def test_no_finalizer_of_another_party_is_lost(times: int, removed: bool) -> None:
    """W4: the patch tests the entry before it removes it, and is retried a few times."""
    from myrmidon.api.objects.kinds import CONFIG_MAP  # noqa: PLC0415 - only here

    server = ApiServer()
    assert not server.create(config_map("held", namespace="default", finalizers=[OTHER, OURS]))
    client = Client(Meddling(server, times))  # type: ignore[arg-type]  # it opens no streams
    ref = ObjectRef(CONFIG_MAP, "held", "default")

    async def act() -> list[str]:
        try:
            await release.remove(client, ref, OURS)
        except Exception:  # noqa: BLE001 - the list says what came of it
            assert not removed
        return finalizers_of(await client.get(ref))

    left = asyncio.run(act())
    assert (OURS not in left) is removed
    assert OTHER in left
    asyncio.run(release.remove(client, ref._replace(name="none"), OURS))


def server_with_children() -> ApiServer:
    """Return a server with a Thing that is being deleted, with every sort of child."""
    server = ApiServer()
    assert not server.create(crd(Thing))
    it = Thing(name="it", namespace="default", finalizers=[OURS, OTHER]).to_json()
    assert not server.create(it)
    uid = server.store.scan("things.test.myrmidon.dev")[0].value["metadata"]["uid"]
    owner = {
        "apiVersion": "test.myrmidon.dev/v1",
        "kind": "Thing",
        "name": "it",
        "uid": uid,
        "controller": True,
    }
    for name, marks in (
        ("owned", {"ownerReferences": [owner]}),
        ("tracked", {"labels": {"myrmidon.dev/parent-uid": uid}}),
        ("other", {}),
    ):
        assert not server.create(config_map(name, namespace="default", **marks))
    names = ("owned", "tracked", "other", "gone")
    refs: list[Json] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": "default"}
        for name in names
    ]
    refs.append({"apiVersion": "lost.example/v1", "kind": "Lost", "name": "a"})
    path = "/apis/test.myrmidon.dev/v1/namespaces/default/things/it"
    merge = "application/merge-patch+json"
    body = {"status": {"resourceRefs": refs}}
    assert server.request("PATCH", f"{path}/status", body, content_type=merge).status == 200
    assert server.request("DELETE", path).status == 200
    return server


TOLD = [
    "its children on record:",
    "  ConfigMap default/owned  is deleted by the garbage collector",
    "  ConfigMap default/tracked  STAYS: delete it yourself, nothing else will",
    "  ConfigMap default/other  is not a child of the object any more",
    "  ConfigMap default/gone  is gone",
    "  Lost.lost.example a  is gone",
]


def released(
    monkeypatch: pytest.MonkeyPatch, server: ApiServer, answer: str | None, *arguments: str
) -> int:
    """Run the command on a server in memory; ``answer`` is typed, None stands for no terminal."""
    from contextlib import asynccontextmanager  # noqa: PLC0415 - only here

    @asynccontextmanager
    async def reading(_args: argparse.Namespace) -> Any:
        yield Client(LocalTransport(server)), argparse.Namespace(namespace="default")

    def typed(_question: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr(release, "reading", reading)
    monkeypatch.setattr("builtins.input", typed)
    return main(["release", "thing", "it", *arguments])


def left(server: ApiServer) -> list[str]:
    """Return the finalizers of the Thing."""
    found = server.store.scan("things.test.myrmidon.dev")
    return finalizers_of(found[0].value) if found else []


def test_it_lists_what_stays_and_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default is no; after a yes our finalizer is removed, and those of others stay."""
    server = server_with_children()
    assert released(monkeypatch, server, "") == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith(f"is being deleted and held by {OURS}, {OTHER}")
    assert told[1:-1] == TOLD
    assert told[-1] == "nothing was changed"
    assert left(server) == [OURS, OTHER]

    assert released(monkeypatch, server, "y") == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"removed {OURS}"
    assert left(server) == [OTHER]

    assert released(monkeypatch, server, None, "--yes", "--finalizer", OTHER) == 0
    assert left(server) == []


def test_without_a_terminal_it_needs_the_flag_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script has to confirm explicitly."""
    server = server_with_children()
    assert released(monkeypatch, server, None) == 2
    assert (
        capsys.readouterr().err
        == "error: standard input ended before an answer.\n  fix: add --yes\n"
    )
    assert left(server) == [OURS, OTHER]


def test_an_object_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says how to find existing ones."""
    with cluster(tmp_path, "admin") as kubeconfig:
        where = ["-n", "kube-system", "--kubeconfig", str(kubeconfig)]
        assert main(["release", "configmap", "nope", *where]) == 2
        assert capsys.readouterr().err == (
            "error: ConfigMap kube-system/nope does not exist.\n"
            "  fix: `kubectl get configmaps -A` lists the objects that do\n"
        )

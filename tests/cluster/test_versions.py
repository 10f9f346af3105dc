"""Versions of a kind on a real API server: written, read and watched in each, and migrated.

The conversion webhook of these tests is the one of the manager, or the same decisions in a thread.  Answers are
compared with those of the embedded server, texts of errors included.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from myrmidon.apiserver.server import ApiServer
from myrmidon.generate.schema.definitions import crd
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.client import Client
from myrmidon.io.http.transport import HttpTransport
from myrmidon.io.timers.clock import LoopClock
from myrmidon.runtime.startup.storage_migration import StorageMigrator
from myrmidon.webhooks.versions import Converter
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.conversion_webhook import ConversionWebhook, conversion_webhook
from tests.cluster.twins import Ask, Twins
from tests.versions.apps import GROUP, App, hub, spoke

CONVERTER = Converter([App])
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/apps.{GROUP}"
MERGE = "application/merge-patch+json"


def at_storage(version: str, client: dict[str, str]) -> dict[str, Any]:
    """Return the definition with a storage version."""
    made = crd(App, client=client)
    for each in made["spec"]["versions"]:
        each["storage"] = each["name"] == version
    return made


@pytest.fixture(scope="module")
def webhook(
    controlplane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConversionWebhook]:
    """The definition on the real server, with a webhook that converts."""
    folder = tmp_path_factory.mktemp("conversion")
    client = controlplane.client()
    with conversion_webhook(folder, CONVERTER.review) as served:
        made = client.post(DEFINITION.rpartition("/")[0], at_storage("v1", served.client))
        assert made.status == 201, made.body
        for version in ("v1", "v1beta1"):
            where = f"/apis/{GROUP}/{version}/apps"
            _await(partial(_is_served, controlplane, where))
        yield served
        client.delete(DEFINITION)
        _await(lambda: client.status(DEFINITION) == 404, 1200)  # with ten thousand objects


def _is_served(plane: ControlPlane, where: str) -> bool:
    return plane.client().status(where) == 200


def _await(condition: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "the server did not get there in time"
        time.sleep(0.05)  # noqa: TID251  # the real server has a clock of its own


def path(namespace: str, version: str, name: str = "") -> str:
    """Return the path of an object, or of all."""
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/apps{f'/{name}' if name else ''}"


@pytest.fixture
def twins(controlplane: ControlPlane, webhook: ConversionWebhook, namespace: str) -> Iterator[Any]:
    """Both servers with the same definition; ``webhook.review`` decides for both."""
    embedded = ApiServer()
    embedded.convert_with(f"apps.{GROUP}", lambda asked: webhook.review(asked))  # noqa: PLW0108 - it changes
    assert (
        embedded.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        == ""
    )
    assert embedded.create(crd(App)) == ""
    pair = Twins(controlplane, embedded)

    def ask(
        method: str, where: str, body: Any = None, content_type: str = "application/json"
    ) -> Any:
        """Send a request to both; ``body`` may be the bodies of an earlier answer, one for each."""
        bodies = body if isinstance(body, tuple) else (body, body)
        asks = [Ask(method, where, each, content_type) for each in bodies]
        theirs, ours, found = pair.ask(*asks)
        ask.bodies = theirs.body, ours.body  # type: ignore[attr-defined]
        assert not found, f"{method} {where}: {found}"
        if isinstance(theirs.body, dict) and theirs.body.get("status") == "Failure":
            texts = [_without_uid(one.body["message"]) for one in (theirs, ours)]
            assert texts[0] == texts[1]
        return theirs

    yield ask
    webhook.review = CONVERTER.review


def _without_uid(text: str) -> str:
    """Leave out the uid of a review, which differs."""
    before, mark, after = text.partition('expected response.uid="')
    return before + mark + after.partition('"')[2]


@pytest.mark.law("V1")
def test_both_versions_are_written_and_read(twins: Any, namespace: str) -> None:
    """Each answer is that of the embedded server, annotations and managedFields included."""
    assert (
        twins("POST", path(namespace, "v1beta1"), spoke("s", note="mine", portNumbers=[80])).status
        == 201
    )
    assert twins("POST", path(namespace, "v1"), hub("h", owner="me")).status == 201
    for version in ("v1", "v1beta1"):
        for name in ("s", "h"):
            assert twins("GET", path(namespace, version, name)).status == 200
    edited = twins("PATCH", path(namespace, "v1beta1", "h"), {"spec": {"size": 5}}, MERGE).body
    assert edited["spec"]["size"] == 5
    assert twins("GET", path(namespace, "v1", "h")).body["spec"]["owner"] == "me"
    edited = twins("PATCH", path(namespace, "v1", "s"), {"spec": {"replicas": 7}}, MERGE).body
    shown = twins("GET", path(namespace, "v1beta1", "s")).body
    assert (shown["spec"]["size"], shown["spec"]["note"]) == (7, "mine")
    same = twins("PUT", path(namespace, "v1beta1", "s"), twins.bodies).body
    assert same["metadata"]["resourceVersion"] == shown["metadata"]["resourceVersion"]
    assert twins("DELETE", path(namespace, "v1beta1", "s")).status == 200


@pytest.mark.law("V2")
def test_one_object_that_cannot_be_converted_does_not_hide_the_others(
    twins: Any, namespace: str
) -> None:
    """It has a placeholder in the list; it cannot be created in the version that fails."""
    assert (
        twins("POST", path(namespace, "v1beta1"), spoke("no", image="unconvertible")).status == 500
    )
    for name, image in (("a", "shop:1"), ("b", "unconvertible"), ("c", "shop:1")):
        assert twins("POST", path(namespace, "v1"), hub(name, image=image)).status == 201
    items = twins("GET", path(namespace, "v1beta1")).body["items"]
    assert [(one["metadata"]["name"], bool(one["spec"])) for one in items] == [
        ("a", True), ("b", False), ("c", True),
    ]  # fmt: skip
    refused = twins("PATCH", path(namespace, "v1beta1", "b"), {"spec": {"size": 3}}, MERGE)
    assert refused.status == 422
    whole = {"spec": {"image": "new", "size": 3}}
    assert twins("PATCH", path(namespace, "v1beta1", "b"), whole, MERGE).status == 500
    labelled = twins(
        "PATCH", path(namespace, "v1beta1", "b"), {"metadata": {"labels": {"a": "b"}}}, MERGE
    )
    assert labelled.status == 422, "a placeholder lacks required fields"
    assert twins("GET", path(namespace, "v1", "b")).body["spec"]["image"] == "unconvertible"
    assert twins("DELETE", path(namespace, "v1beta1", "b")).status == 200


def _edited(**edits: Any) -> Callable[[Any], Any]:
    def review(asked: Any) -> Any:
        answer = CONVERTER.review(asked)
        for where, values in edits.items():
            target = {
                "answer": answer,
                "response": answer["response"],
                "object": answer["response"]["convertedObjects"][0],
                "metadata": answer["response"]["convertedObjects"][0].setdefault("metadata", {}),
            }[where]
            target.update(values)
        return answer

    return review


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(lambda _: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}, id="empty"),
        pytest.param(_edited(answer={"kind": "Foo"}), id="kind of the review"),
        pytest.param(_edited(answer={"apiVersion": "apiextensions.k8s.io/v1beta1"}), id="old review"),
        pytest.param(_edited(response={"uid": "other"}), id="uid"),
        pytest.param(_edited(response={"result": {"status": "Failure"}}), id="failure"),
        pytest.param(_edited(response={"result": {"status": "Failure", "message": "a\nb"}}), id="message"),
        pytest.param(_edited(response={"convertedObjects": []}), id="no object"),
        pytest.param(_edited(response={"convertedObjects": [hub(), hub()]}), id="two objects"),
        pytest.param(_edited(object={"apiVersion": f"{GROUP}/v1"}), id="version"),
        pytest.param(_edited(object={"kind": "Ape"}), id="kind"),
        pytest.param(_edited(metadata={"name": "ape"}), id="name"),
        pytest.param(_edited(metadata={"namespace": "ape"}), id="namespace"),
        pytest.param(_edited(metadata={"labels": {"a b": "c"}}), id="label"),
        pytest.param(_edited(metadata={"labels": {"a": 1}}), id="label that is a number"),
        pytest.param(_edited(metadata={"annotations": {"a": "b" * 300_000}}), id="annotation"),
        pytest.param(_edited(metadata={"generation": 77, "finalizers": ["a.b/c"]}), id="other metadata"),
        pytest.param(_edited(metadata={"labels": {"a": "b"}}), id="new label"),
        pytest.param(_edited(object={"unknown": 1}), id="unknown field"),
    ],
)  # fmt: skip
def test_replies_of_a_webhook_are_judged_alike(
    twins: Any, webhook: ConversionWebhook, namespace: str, review: Callable[[Any], Any]
) -> None:
    """With the same status and the same text."""
    twins("POST", path(namespace, "v1"), hub("one"))
    webhook.review = review
    twins("GET", path(namespace, "v1beta1", "one"))


def test_each_version_is_watched(
    controlplane: ControlPlane, webhook: ConversionWebhook, namespace: str
) -> None:
    """A write in one version is an event in both."""
    client = controlplane.client()
    begun = client.get(path(namespace, "v1")).body["metadata"]["resourceVersion"]
    client.post(path(namespace, "v1"), hub("one", replicas=2))
    client.request("PATCH", path(namespace, "v1beta1", "one"), {"spec": {"size": 4}}, MERGE)
    client.delete(path(namespace, "v1beta1", "one"))
    seen = {}
    for version in ("v1", "v1beta1"):
        query = f"?watch=1&resourceVersion={begun}&timeoutSeconds=2"
        body = client.get(path(namespace, version) + query).body
        events = [json.loads(line) for line in str(body).splitlines()]
        field = "replicas" if version == "v1" else "size"
        seen[version] = [
            (one["type"], one["object"]["apiVersion"], one["object"]["spec"][field])
            for one in events
        ]
    for version, events in seen.items():
        api = f"{GROUP}/{version}"
        assert events == [("ADDED", api, 2), ("MODIFIED", api, 4), ("DELETED", api, 4)]


# ------------------------------------------------------------------------- migration


def _numbers(count: int) -> list[str]:
    return [f"app-{number:05}" for number in range(count)]


class Writer(threading.Thread):
    """Edits objects in both versions until it is stopped, and remembers what it wrote."""

    def __init__(self, plane: ControlPlane, namespace: str, names: list[str]) -> None:
        super().__init__(daemon=True)
        self._client, self._namespace, self._names = plane.client(), namespace, names
        self.written: dict[str, dict[str, Any]] = {}
        self.stopping = threading.Event()
        self.errors: list[Any] = []

    def run(self) -> None:
        """Write."""
        step = 0
        while not self.stopping.is_set():
            name = self._names[(step * 7919) % len(self._names)]
            version, field = (("v1", "replicas"), ("v1beta1", "note"))[step % 2]
            value = step if field == "replicas" else f"edited-{step}"
            where = path(self._namespace, version, name)
            answer = self._client.request("PATCH", where, {"spec": {field: value}}, MERGE)
            if answer.status != 200:
                self.errors.append(answer.body)
            self.written.setdefault(name, {})[field] = value
            step += 1


async def _migrate(kubeconfig: Path, rate: float) -> Any:
    client = Client(HttpTransport(await load_endpoint(str(kubeconfig))))
    try:
        return await StorageMigrator(client, LoopClock(), per_second=rate).migrate(f"apps.{GROUP}")
    finally:
        await client.close()


def _all(plane: ControlPlane, namespace: str, version: str) -> dict[str, Any]:
    """Return all objects; the server fills a cache for each version first, and answers 429 meanwhile."""
    client = plane.client()
    _await(lambda: client.status(path(namespace, version)) == 200, 300)
    answer = client.get(path(namespace, version))
    return {one["metadata"]["name"]: one for one in answer.body["items"]}


def migrate_while_writing(
    plane: ControlPlane, webhook: ConversionWebhook, namespace: str, count: int
) -> float:
    """Create objects in the old version, migrate them under edits, compare; return the seconds."""
    import asyncio  # noqa: PLC0415

    client, names = plane.client(), _numbers(count)
    switched = client.request(
        "PATCH", DEFINITION, {"spec": at_storage("v1beta1", webhook.client)["spec"]}, MERGE
    )
    assert switched.status == 200, switched.body
    time.sleep(3)  # noqa: TID251  # until the server stores the other version
    for number, name in enumerate(names):
        made = spoke(name, size=number % 7, note=f"n{number}", portNumbers=[80, 443][: number % 3])
        assert client.post(path(namespace, "v1beta1"), made).status == 201
    switched = client.request(
        "PATCH", DEFINITION, {"spec": at_storage("v1", webhook.client)["spec"]}, MERGE
    )
    assert "v1beta1" in switched.body["status"]["storedVersions"]
    time.sleep(3)  # noqa: TID251  # likewise
    # A list in v1 would wait until the server has converted all objects for its cache, one by one.
    before = {"v1beta1": _all(plane, namespace, "v1beta1")}
    before["v1"] = {
        name: CONVERTER.convert(one, f"{GROUP}/v1") for name, one in before["v1beta1"].items()
    }
    writer = Writer(plane, namespace, names)
    writer.start()
    began = time.monotonic()
    outcome = asyncio.run(_migrate(plane.kubeconfig, rate=1000))
    seconds = time.monotonic() - began
    writer.stopping.set()
    writer.join()
    assert not writer.errors
    assert outcome.is_finished, outcome
    assert outcome.progress.seen >= count
    assert client.get(DEFINITION).body["status"]["storedVersions"] == ["v1"]
    after = {version: _all(plane, namespace, version) for version in ("v1", "v1beta1")}
    for name in names:
        edits = writer.written.get(name, {})
        new, old = before["v1"][name], before["v1beta1"][name]
        wanted = {
            **new["spec"],
            **{key: value for key, value in edits.items() if key == "replicas"},
        }
        assert after["v1"][name]["spec"] == wanted
        shown = {**old["spec"], "size": wanted["replicas"]}
        shown |= {key: value for key, value in edits.items() if key == "note"}
        assert after["v1beta1"][name]["spec"] == shown
        assert after["v1"][name]["metadata"]["uid"] == old["metadata"]["uid"]
        if not edits:
            assert after["v1"][name]["metadata"]["generation"] == old["metadata"]["generation"]
    return seconds


@pytest.mark.law("V3")
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_objects_are_migrated_while_a_writer_edits_them(
    controlplane: ControlPlane, webhook: ConversionWebhook, namespace: str, count: int
) -> None:
    """Nothing is lost: compared field by field in both versions."""
    seconds = migrate_while_writing(controlplane, webhook, namespace, count)
    print(f"{count} objects migrated in {seconds:.1f} s, {count / seconds:.0f}/s")  # noqa: T201 - for -s

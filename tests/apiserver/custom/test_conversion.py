"""Versions of a custom resource that a webhook converts: stored in one, served in all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.fronts import conversion_client
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.resources.conversions import (
    KEPT_MAX,
    ConversionNeeded,
    Conversions,
    ConvertedResource,
)
from myrmidon.apiserver.server import ApiServer
from myrmidon.generate.schema.definitions import crd
from myrmidon.testing.harness.clock import run
from myrmidon.webhooks.versions import Converter
from tests.versions.apps import GROUP, App, hub, spoke

RESOURCE = f"apps.{GROUP}"
CONVERTER = Converter([App])


def path(version: str, name: str = "", query: str = "") -> str:
    """Return the path of an object, or of all."""
    return f"/apis/{GROUP}/{version}/namespaces/default/apps{f'/{name}' if name else ''}{query}"


class Server:
    """A server with two versions of one kind."""

    def __init__(self, review: Callable[[Json], Any] = CONVERTER.review) -> None:
        self.api = ApiServer()
        self.asked: list[Json] = []

        def recorded(asked: Json) -> Any:
            self.asked.append(asked)
            return review(asked)

        self.api.convert_with(RESOURCE, recorded)
        assert self.api.create(crd(App)) == ""

    def send(self, method: str, where: str, body: Any = None, **options: Any) -> Any:
        """Return the answer; its status if it is not the expected one."""
        response = self.api.request(method, where, body, **options)
        self.api.settle()
        return response.status, json.loads(response.body)

    def ok(self, method: str, where: str, body: Any = None, **options: Any) -> Any:
        """Return the body of a success."""
        status, answer = self.send(method, where, body, **options)
        assert status in (200, 201), answer
        return answer

    def watch(self, version: str) -> OpenWatch:
        """Watch from now on."""
        query = (("watch", "1"), ("resourceVersion", str(self.api.store.revision)))
        opened = self.api.answer(HttpRequest("GET", path(version), query, {}, b""))
        assert isinstance(opened, OpenWatch)
        return opened


def test_an_object_is_written_and_read_in_both_versions() -> None:
    """It is stored in one, and each version shows its own fields."""
    server = Server()
    made = server.ok("POST", path("v1beta1"), spoke(size=3, note="mine", portNumbers=[80]))

    assert made["spec"] == {"image": "shop:1", "size": 3, "note": "mine", "portNumbers": [80]}
    stored = server.api.store.get(RESOURCE, "default/one")
    assert stored is not None
    assert stored.value["apiVersion"] == f"{GROUP}/v1"
    assert server.ok("GET", path("v1", "one"))["spec"]["replicas"] == 3
    assert server.ok("GET", path("v1beta1", "one")) == made
    assert [one["spec"] for one in server.ok("GET", path("v1beta1"))["items"]] == [made["spec"]]


def test_a_patch_of_one_version_keeps_the_fields_of_the_other() -> None:
    """Whichever is stored."""
    server = Server()
    server.ok("POST", path("v1"), hub(owner="me", replicas=1))
    merge = {"content_type": "application/merge-patch+json"}

    server.ok("PATCH", path("v1beta1", "one"), {"spec": {"size": 5, "note": "mine"}}, **merge)
    assert server.ok("GET", path("v1", "one"))["spec"] == hub(owner="me", replicas=5)["spec"]
    server.ok("PATCH", path("v1", "one"), {"spec": {"replicas": 6}}, **merge)
    shown = server.ok("GET", path("v1beta1", "one"))
    assert (shown["spec"]["size"], shown["spec"]["note"]) == (6, "mine")


def test_a_write_that_changes_nothing_is_not_stored_in_any_version() -> None:
    """The resourceVersion stays, as on the real server."""
    server = Server()
    server.ok("POST", path("v1"), hub(owner="me"))
    shown = server.ok("GET", path("v1beta1", "one"))

    again = server.ok("PUT", path("v1beta1", "one"), shown)

    assert again["metadata"]["resourceVersion"] == shown["metadata"]["resourceVersion"]
    assert again["metadata"]["generation"] == 1


def test_each_version_has_its_own_watch() -> None:
    """A write in one version is an event in both."""
    server = Server()
    watches = {version: server.watch(version) for version in ("v1", "v1beta1")}
    server.ok("POST", path("v1"), hub(replicas=2))
    server.ok("PATCH", path("v1beta1", "one"), {"spec": {"size": 4}},
              content_type="application/merge-patch+json")  # fmt: skip
    server.ok("DELETE", path("v1beta1", "one"))

    seen = {
        version: [
            (
                event["type"],
                event["object"]["apiVersion"].rpartition("/")[2],
                event["object"]["spec"],
            )
            for event in map(json.loads, watch.take())
        ]
        for version, watch in watches.items()
    }
    events = (("ADDED", 2), ("MODIFIED", 4), ("DELETED", 4))
    assert seen["v1"] == [(kind, "v1", hub(replicas=n)["spec"]) for kind, n in events]
    assert seen["v1beta1"] == [(kind, "v1beta1", spoke(size=n)["spec"]) for kind, n in events]


def test_objects_stay_in_the_version_in_which_they_were_stored() -> None:
    """A changed storage version applies to the next write: that is what a migration relies on."""
    server = Server()
    server.ok("POST", path("v1beta1"), spoke(size=2))
    definition = server.ok(
        "GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{RESOURCE}"
    )
    for version in definition["spec"]["versions"]:
        version["storage"] = version["name"] == "v1beta1"
    changed = server.ok(
        "PUT", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{RESOURCE}", definition
    )
    assert changed["status"]["storedVersions"] == ["v1", "v1beta1"]

    before = server.ok("GET", path("v1", "one"))
    stored = server.api.store.get(RESOURCE, "default/one")
    assert stored is not None
    assert stored.value["apiVersion"] == f"{GROUP}/v1"
    assert before["spec"] == hub(replicas=2)["spec"]
    after = server.ok("PUT", path("v1", "one"), before)
    stored = server.api.store.get(RESOURCE, "default/one")
    assert stored is not None
    assert stored.value["apiVersion"] == f"{GROUP}/v1beta1"
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert after["spec"] == before["spec"]


def test_an_object_that_cannot_be_converted_is_refused() -> None:
    """With the real server's text, and nothing is stored."""
    server = Server()

    status, answer = server.send("POST", path("v1beta1"), spoke(image="unconvertible"))

    assert (status, answer) == (
        500,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"conversion webhook for {GROUP}/v1beta1, Kind=App failed: App default/one "
            f"({GROUP}/v1beta1) cannot be converted to v1: AppV1Beta1.to_hub raised ValueError: "
            "this image cannot be converted",
            "code": 500,
        },
    )
    assert server.ok("GET", path("v1"))["items"] == []


def test_one_object_does_not_hide_the_others() -> None:
    """Neither from a list nor from a watch."""
    server = Server()
    watch = server.watch("v1beta1")
    for name, image in (("a", "shop:1"), ("b", "unconvertible"), ("c", "shop:1")):
        server.ok("POST", path("v1"), hub(name, image=image))

    listed = server.ok("GET", path("v1beta1"))["items"]
    assert [(one["metadata"]["name"], bool(one["spec"])) for one in listed] == [
        ("a", True), ("b", False), ("c", True),
    ]  # fmt: skip
    assert len(watch.take()) == 3
    assert server.send("DELETE", path("v1beta1", "b"))[0] == 200


def changed(**edits: Any) -> Callable[[Json], Any]:
    """Return a webhook that answers with an edited reply."""

    def review(asked: Json) -> Any:
        answer = CONVERTER.review(asked)
        response = answer["response"]
        for key, value in edits.items():
            if key == "metadata":
                response["convertedObjects"][0]["metadata"] |= value
            elif key == "object":
                response["convertedObjects"][0] |= value
            elif key == "response":
                response |= value
            else:
                answer[key] = value
        return answer

    return review


FAILED = f"conversion webhook for {GROUP}/v1, Kind=App failed: "
RETURNED = f"conversion webhook for {GROUP}/v1, Kind=App returned "


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (lambda _: "text", FAILED + "couldn't get version/kind; json parse error"),
        (lambda _: {"error": "Post x: refused"}, FAILED + "Post x: refused"),
        (changed(kind="Foo"), FAILED + 'no kind "Foo" is registered for version "apiextensions.k8s.io/v1" '
         'in scheme "pkg/runtime/scheme.go:111"'),
        (changed(apiVersion="apiextensions.k8s.io/v1beta1"), FAILED
         + "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"),
        (lambda asked: {**CONVERTER.review(asked), "response": None}, FAILED + "no response provided"),
        (changed(response={"result": {"status": "Failure"}}), FAILED
         + "response.result.status was 'Failure', not 'Success'"),
        (changed(response={"result": {"status": "Failure", "message": "no\nmore"}}), FAILED + "no\nmore"),
        (changed(response={"convertedObjects": [{}, {}]}), RETURNED + "2 objects, expected 1"),
        (changed(response={"convertedObjects": None}), RETURNED + "0 objects, expected 1"),
        (changed(response={"convertedObjects": ["x"]}), FAILED
         + "cannot unmarshal string into an object"),
        (changed(object={"apiVersion": f"{GROUP}/v1"}), RETURNED + "invalid object at index 0: invalid "
         f"groupVersion (expected {GROUP}/v1beta1, received {GROUP}/v1)"),
        (changed(object={"kind": "Ape"}), RETURNED
         + "invalid object at index 0: invalid kind (expected App, received Ape)"),
        (changed(metadata={"name": "ape"}), RETURNED + "invalid object: must have the same name: one != ape"),
        (changed(metadata={"namespace": ""}), RETURNED
         + "invalid object: must have the same namespace: default != "),
        (changed(object={"metadata": 1}), RETURNED + "invalid object: must have the same name: one != "),
        (changed(metadata={"labels": {"a": 1}}), RETURNED
         + "invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"),
        (changed(metadata={"labels": "a"}), RETURNED
         + "invalid metadata: invalid metadata.labels of type string in converted object"),
        (changed(metadata={"annotations": {"a": "b" * 300_000}}), RETURNED
         + "invalid metadata: metadata.annotation: Too long: may not be more than 262144 bytes"),
        (changed(metadata={"labels": {"a b": "c d"}}), None),
    ],
)  # fmt: skip
def test_a_reply_that_is_not_a_conversion_is_told(
    review: Callable[[Json], Any], message: str | None
) -> None:
    """With the texts of the real server."""
    server = Server(review)
    server.ok("POST", path("v1"), hub())

    status, answer = server.send("GET", path("v1beta1", "one"))

    assert status == 500
    if message is None:
        assert answer["message"].startswith(
            RETURNED + "invalid metadata: [metadata.labels: Invalid value"
        )
    else:
        assert answer["message"] == message


def test_a_reply_to_another_question_is_not_accepted() -> None:
    """By its uid."""
    server = Server(changed(response={"uid": "other"}))
    server.ok("POST", path("v1"), hub())

    message = server.send("GET", path("v1beta1", "one"))[1]["message"]
    assert message.startswith(FAILED + "expected response.uid=")
    assert message.endswith('got "other"')


def test_a_conversion_changes_labels_and_no_other_metadata() -> None:
    """What else it changes is dropped in silence, and unknown fields are pruned."""
    edits = {"labels": {"a": "b"}, "generation": 77, "finalizers": ["a.b/c"]}
    server = Server(changed(metadata=edits, object={"unknown": 1}))
    server.ok("POST", path("v1"), hub())

    shown = server.ok("GET", path("v1beta1", "one"))

    assert shown["metadata"]["labels"] == {"a": "b"}
    assert shown["metadata"]["generation"] == 1
    assert "finalizers" not in shown["metadata"]
    assert "unknown" not in shown


def test_a_watch_ends_with_the_error_of_a_conversion() -> None:
    """After the events before it."""
    replies: list[Callable[[Json], Any]] = [CONVERTER.review, changed(response={"uid": ""})]
    server = Server(lambda asked: replies.pop(0)(asked))  # noqa: PLW0108 - a reply per question
    watch = server.watch("v1beta1")
    server.ok("POST", path("v1"), hub("a"))
    server.ok("POST", path("v1"), hub("b"))

    events = [json.loads(line) for line in watch.take()]

    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert watch.over


def test_ownership_of_fields_follows_the_conversion() -> None:
    """A manager of v1beta1 loses a field that a write of v1 has changed."""
    server = Server()
    apply = {"content_type": "application/apply-patch+yaml"}
    server.ok(
        "PATCH", path("v1beta1", "one"), spoke(size=2), query=(("fieldManager", "old"),), **apply
    )
    shown = server.ok("GET", path("v1", "one"))
    shown["spec"]["replicas"] = 9
    server.ok("PUT", path("v1", "one"), shown, query=(("fieldManager", "new"),))

    managers = {
        entry["manager"]: entry["fieldsV1"]["f:spec"]
        for entry in server.ok("GET", path("v1", "one"))["metadata"]["managedFields"]
    }
    assert "f:size" not in managers["old"]
    assert "f:image" in managers["old"]
    assert "f:replicas" in managers["new"]


# ------------------------------------------------------------------------- over HTTP


class Remote:
    """A server whose webhook is at an address; the call of it is replaced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.api = ApiServer()
        self.asked: list[Json] = []
        self.error = ""
        assert self.api.create(crd(App, client={"url": "https://localhost:1/convert"})) == ""
        self.transport = LocalTransport(self.api)

        async def ask(question: Json) -> Any:
            self.asked.append(question["review"])
            return {"error": self.error} if self.error else CONVERTER.review(question["review"])

        monkeypatch.setattr(conversion_client, "ask", ask)

    async def send(self, method: str, where: str, body: Any = None) -> tuple[int, Any]:
        """Return status and body."""
        sent = json.dumps(body).encode() if body is not None else b""
        headers = {"content-type": "application/json"}
        where, _, query = where.partition("?")
        pairs = tuple(tuple(pair.split("=")) for pair in query.split("&") if pair)
        response: HttpResponse = await self.transport.send(
            HttpRequest(method, where, pairs, headers, sent)  # type: ignore[arg-type]
        )
        return response.status, json.loads(response.body)


def test_a_webhook_at_an_address_is_called_once_for_each_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list asks for all objects, and a second list for none."""

    async def story() -> None:
        remote = Remote(monkeypatch)
        for number in range(5):
            assert (await remote.send("POST", path("v1"), hub(f"app-{number}")))[0] == 201
        assert remote.asked == []
        for _ in range(2):
            status, answer = await remote.send("GET", path("v1beta1"))
            assert status == 200
            assert [one["spec"] for one in answer["items"]] == [spoke()["spec"]] * 5
        assert [len(review["request"]["objects"]) for review in remote.asked] == [1] * 5
        status, answer = await remote.send("POST", path("v1beta1"), spoke(size=4))
        assert (status, answer["spec"]) == (201, spoke(size=4)["spec"])

    run(story())


def test_a_webhook_that_does_not_answer_fails_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next request asks again."""

    async def story() -> None:
        remote = Remote(monkeypatch)
        await remote.send("POST", path("v1"), hub())
        remote.error = "Post https://localhost:1/convert: refused"
        status, answer = await remote.send("GET", path("v1beta1", "one"))
        assert (status, answer["message"]) == (500, FAILED + remote.error)
        remote.error = ""
        assert (await remote.send("GET", path("v1beta1", "one")))[0] == 200

    run(story())


def test_a_watch_waits_for_the_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events arrive in order; if the webhook fails, the watch ends with an error."""

    async def story() -> None:
        remote = Remote(monkeypatch)
        await remote.send("POST", path("v1"), hub("a"))
        query = (("watch", "1"), ("timeoutSeconds", "5"))
        async with remote.transport.stream(
            HttpRequest("GET", path("v1beta1"), query, {}, b"")
        ) as stream:
            lines = stream.lines()
            first = json.loads(await anext(lines))
            await remote.send("POST", path("v1"), hub("b"))
            await remote.send("POST", path("v1"), hub("c", replicas=7))
            more = [json.loads(await anext(lines)) for _ in range(2)]
            remote.error = "gone"
            await remote.send("POST", path("v1"), hub("d", replicas=8))
            last = json.loads(await anext(lines))
            with pytest.raises(StopAsyncIteration):
                await anext(lines)
        names = [event["object"]["metadata"].get("name") for event in (first, *more, last)]
        assert names == ["a", "b", "c", None]
        assert last["object"]["message"] == FAILED + "gone"

    run(story())


def test_an_actor_does_not_wait_for_a_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets an error."""
    remote = Remote(monkeypatch)
    remote.api.create(hub())

    response = remote.api.request("GET", path("v1beta1", "one"))
    assert (response.status, "cannot wait" in response.body.decode()) == (500, True)


def test_old_replies_are_forgotten() -> None:
    """But never those of the request that asked."""
    conversions, webhook = Conversions(), ConvertedResource("apps", {})

    def objects(start: int, count: int) -> list[Json]:
        return [hub(f"app-{number}") for number in range(start, start + count)]

    def learn(wanted: list[Json]) -> None:
        needed = ConversionNeeded(webhook, f"{GROUP}/v1beta1", wanted)
        conversions.learn(needed, [_reply(obj) for obj in wanted])

    learn(objects(0, 3))
    monkey = objects(3, KEPT_MAX)
    learn(monkey)
    conversions.need(webhook, monkey, f"{GROUP}/v1beta1")
    with pytest.raises(ConversionNeeded) as caught:
        conversions.need(webhook, objects(0, 4), f"{GROUP}/v1beta1")
    assert len(caught.value.objects) == 3


def _reply(obj: Json) -> Json:
    from myrmidon.apiserver.resources.conversions import review_of  # noqa: PLC0415

    asked = review_of(obj, f"{GROUP}/v1beta1")
    made = {**obj, "apiVersion": f"{GROUP}/v1beta1"}
    response = {"uid": asked["request"]["uid"], "convertedObjects": [made]}
    result = {"result": {"status": "Success"}}
    return {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "response": {**response, **result},
    }

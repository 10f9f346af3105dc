"""No body stops the server: neither deep nesting, nor expanding aliases, nor copies of copies.

The real server accepts JSON of 10,000 levels.  This one accepts ``DEPTH_MAX``, in every verb, and
refuses deeper JSON with a 400.
"""

import json
from typing import Any

import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.golang.json import DEPTH_MAX
from myrmidon.apiserver.server import ApiServer

JSON, YAML = "application/json", "application/yaml"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
BOXES = "/apis/example.com/v1/namespaces/default/boxes"
# The body, .spec and .spec.tree are three levels themselves.
DEPTHS = [100, 254, 255, 300, DEPTH_MAX - 3, DEPTH_MAX - 2, 1000, 1023, 1024, 1100, 5000, 20_000]


def definition(**spec: Any) -> Any:
    """Build a definition with a free-form ``.spec.tree`` and other properties of the spec."""
    free = {"x-kubernetes-preserve-unknown-fields": True}
    properties = {"tree": free, **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "additionalPrinterColumns": [
                        {"name": "T", "type": "string", "jsonPath": ".spec..x..x..x..x"}
                    ],
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": properties}},
                        }
                    },
                }
                for name in ("v1", "v2")
            ],
        },
    }


def box(spec: str, name: str = "a", revision: str = "") -> bytes:
    """Build a Box, as text: Python's own encoder has limits, too."""
    meta = json.dumps({"name": name} | ({"resourceVersion": revision} if revision else {}))
    return (
        f'{{"apiVersion":"example.com/v1","kind":"Box","metadata":{meta},"spec":{spec}}}'.encode()
    )


def nested(depth: int, kind: str = "map") -> str:
    """Build a value of so many levels."""
    if kind == "map":
        return '{"x":' * depth + "1.5" + "}" * depth
    return "[" * depth + "1e3" + "]" * depth


class Server:
    """A server with the kind Box."""

    def __init__(self, **spec: Any) -> None:
        self.server = ApiServer()
        assert not self.server.create(definition(**spec))

    def ask(
        self, method: str, path: str, body: bytes = b"", media: str = JSON, accept: str = JSON
    ) -> HttpResponse:
        """Send a request; check that the response is not a 500."""
        query = (("fieldManager", "m"), ("force", "true")) if media == APPLY else ()
        request = HttpRequest(method, path, query, {"content-type": media, "accept": accept}, body)
        outcome = self.server.answer(request)
        self.server.settle()
        assert isinstance(outcome, HttpResponse)
        assert outcome.status < 500, outcome.body[:200]
        return outcome


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", ["map", "list"])
def test_deep_objects_are_accepted_up_to_the_limit(depth: int, kind: str) -> None:
    """In every verb and every form of response; beyond the limit the response is a 400."""
    server = Server()
    tree = nested(depth, kind)
    fits = depth + 2 <= DEPTH_MAX
    patch = f'{{"spec":{{"tree":{tree}}}}}'.encode()
    operation = f'[{{"op":"add","path":"/spec/tree","value":{tree}}}]'.encode()

    created = server.ask("POST", BOXES, box(f'{{"tree":{tree}}}'))
    second = server.ask("POST", BOXES, box("{}", "b"))
    revision = json.loads(second.body)["metadata"]["resourceVersion"]
    answers = [
        created,
        server.ask("PUT", f"{BOXES}/b", box(f'{{"tree":{tree}}}', "b", revision)),
        server.ask("PATCH", f"{BOXES}/b", patch, MERGE),
        server.ask("PATCH", f"{BOXES}/b", operation, JSON_PATCH),
        server.ask("PATCH", f"{BOXES}/c", box(f'{{"tree":{tree}}}', "c"), APPLY),
        server.ask("PATCH", f"{BOXES}/b", box(f'{{"tree":{tree}}}', "b"), APPLY),
    ]

    if fits:
        assert [answer.status for answer in answers] == [201, 200, 200, 200, 201, 200]
        assert tree.replace("1e3", "1000").encode() in created.body
    else:
        assert {answer.status for answer in answers} == {400}
    for accept in (JSON, YAML, "application/json;as=Table;v=v1;g=meta.k8s.io"):
        for path in (BOXES, f"{BOXES}/b", BOXES.replace("v1", "v2")):
            assert server.ask("GET", path, accept=accept).status == 200
    assert server.ask("PATCH", f"{BOXES}/b", b'{"spec":{"tree":null}}', MERGE).status == 200
    assert server.ask("DELETE", BOXES).status == 200


def test_patches_cannot_grow_an_object_beyond_the_limit() -> None:
    """Each patch is below the limit, but their sum is not."""
    server = Server()
    server.ask("POST", BOXES, box('{"tree":{"x":1}}'))
    statuses, at = [], "/spec/tree"
    for _ in range(20):
        body = f'[{{"op":"add","path":"{at}","value":{nested(100)}}}]'.encode()
        statuses.append(server.ask("PATCH", f"{BOXES}/a", body, JSON_PATCH).status)
        at += "/x" * 100

    assert statuses[:4] == [200] * 4
    assert set(statuses[6:]) <= {400, 422}


def test_copies_of_copies_are_refused() -> None:
    """Thirty copies, each of all the others, are 2^30 objects."""
    server = Server()
    server.ask("POST", BOXES, box('{"tree":{"x":{"y":1}}}'))
    operations = [
        {"op": "copy", "from": "/spec/tree", "path": f"/spec/tree/n{index}"} for index in range(60)
    ]

    answer = server.ask("PATCH", f"{BOXES}/a", json.dumps(operations).encode(), JSON_PATCH)

    assert answer.status == 422


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)


@pytest.mark.parametrize("media", [YAML, APPLY])
def test_aliases_that_expand_are_refused(media: str) -> None:
    """A kilobyte of YAML that stands for 10^12 values."""
    server = Server()
    text = "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: a}\nspec:\n  tree:\n" + "".join(
        f"    {line}\n" for line in BOMB.splitlines()
    )
    path = BOXES if media == YAML else f"{BOXES}/a"

    answer = server.ask("POST" if media == YAML else "PATCH", path, text.encode(), media)

    assert answer.status == 400
    assert b"yaml: document contains excessive aliasing" in answer.body


def test_aliases_are_expanded() -> None:
    """A small number of them is accepted."""
    server = Server()
    text = box("{}").decode()[:-3] + "{tree: {a: &a {x: [1, 2]}, b: *a, c: [*a, *a]}}}"

    answer = server.ask("POST", BOXES, text.encode(), YAML)

    assert answer.status == 201
    assert json.loads(answer.body)["spec"]["tree"]["c"] == [{"x": [1, 2]}] * 2


@pytest.mark.parametrize(
    "text",
    ["&a [*a]", "- " * 100_000 + "x", "{a: " * 3000, "? " * 3000, "&a " * 3000, "!!python/x 1"],
)
def test_yaml_with_cycles_or_too_much_depth_is_refused(text: str) -> None:
    """The response is a 400."""
    server = Server()

    assert server.ask("POST", BOXES, text.encode(), YAML).status == 400


HARD_TEXTS = ["a" * 200 + "!", "1" * 20_000, "a." * 5000, '"' + "\\a" * 5000, " " * 20_000 + "x"]
FORMATS = [
    "email",
    "hostname",
    "duration",
    "uri",
    "ipv4",
    "date-time",
    "mac",
    "byte",
    "uuid",
    "isbn",
]


@pytest.mark.parametrize("text", HARD_TEXTS)
@pytest.mark.parametrize("form", [{"pattern": "^(a+)+$"}, *({"format": each} for each in FORMATS)])
def test_patterns_and_formats_take_linear_time(form: Any, text: str) -> None:
    """A backtracking matcher would never end."""
    server = Server(text={"type": "string", **form})

    answer = server.ask("POST", BOXES, box(json.dumps({"text": text})))

    assert answer.status in {201, 422}


RULES = [
    "self.matches('^(a+)+$')",
    "self.find('(a*)*b') == ''",
    "self.findAll('(a|aa)+$').size() >= 0",
    "self == '' || double(self) > 0.0",
    "self == '' || quantity(self).isInteger()",
    "self == '' || duration(self) > duration('1s')",
    "self == '' || isURL(self)",
]


@pytest.mark.parametrize("text", HARD_TEXTS)
@pytest.mark.parametrize("rule", RULES)
def test_rules_take_linear_time(rule: str, text: str) -> None:
    """Also those of CEL, with their own patterns and functions that read texts."""
    schema = {"type": "string", "maxLength": 30_000, "x-kubernetes-validations": [{"rule": rule}]}
    server = Server(text=schema)

    answer = server.ask("POST", BOXES, box(json.dumps({"text": text})))

    assert answer.status in {201, 422}


def test_paths_of_columns_are_bounded() -> None:
    """``..x..x..x..x`` over a tree of a thousand values visits 10^12 of them."""
    server = Server()
    tree: Any = 1
    for _ in range(100):
        tree = {"x": tree, "y": [{"x": {"x": 1}} for _ in range(20)]}
    server.ask("POST", BOXES, box(json.dumps({"tree": tree})))

    answer = server.ask("GET", BOXES, accept="application/json;as=Table;v=v1;g=meta.k8s.io")

    assert answer.status == 200


@pytest.mark.parametrize("field", ["labelSelector", "fieldSelector", "limit", "resourceVersion"])
@pytest.mark.parametrize("text", [*HARD_TEXTS, "a" + " " * 20_000 + "!", "a=" * 5000, "9" * 5000])
def test_queries_take_linear_time(field: str, text: str) -> None:
    """Selectors are parsed by expressions, numbers may have any number of digits."""
    server = ApiServer()
    request = HttpRequest("GET", "/api/v1/configmaps", ((field, text),), {}, b"")

    outcome = server.answer(request)

    assert not isinstance(outcome, HttpResponse) or outcome.status < 500


@pytest.mark.parametrize("digits", ["9" * 5000, "1e" + "9" * 30, "0." + "1" * 5000, "1E-999999999"])
def test_huge_numbers(digits: str) -> None:
    """Python refuses to read more than 4,300 digits; a power of ten can fill the memory."""
    server = ApiServer()
    bodies: dict[str, Any] = {
        "/api/v1/namespaces/default/pods": {
            "metadata": {"name": "p", "generation": 1},
            "spec": {
                "containers": [
                    {"name": "c", "image": "i", "resources": {"limits": {"cpu": digits}}}
                ]
            },
        },
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
            "metadata": {"name": "p", "resourceVersion": digits},
            "spec": {"minAvailable": f"{digits}%", "selector": {}},
        },
        "/apis/batch/v1/namespaces/default/cronjobs": {
            "metadata": {"name": "p"},
            "spec": {"schedule": f"{digits} * * * *", "jobTemplate": {}},
        },
    }
    for path, body in bodies.items():
        answer = server.request("POST", path, body)
        assert answer.status < 500, answer.body[:200]


@pytest.mark.parametrize("below", ["", "/status", "/ephemeralcontainers", "/resize"])
@pytest.mark.parametrize("spec", [{}, {"containers": []}, {"containers": None}, None])
def test_a_pod_update_without_containers_is_answered(spec: Any, below: str) -> None:
    """Lists that Go always writes are null in the object, not absent."""
    server = ApiServer()
    pods = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert server.request("POST", pods, pod).status == 201

    answer = server.request("PUT", f"{pods}/p{below}", {"metadata": {"name": "p"}, "spec": spec})

    assert answer.status == (422 if below in {"", "/resize"} else 200)

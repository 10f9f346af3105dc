"""A request that is answered from memory has the same answer and the same effects as one answered anew.

Each test sends the same requests to two servers, one with a memory that already holds answers of other
servers and one without any, and compares all answers and the whole store.
"""

import json
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.handling.memo import RequestMemo
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer
from myrmidon.apiserver.store import FIRST_REVISION

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JSON, MERGE, JSON_PATCH, APPLY = (
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)


def send(
    server: ApiServer, method: str, path: str, body: Any = None, kind: str = JSON, **query: str
) -> HttpResponse:
    """Send a request as a client would; let the actors act afterwards."""
    headers = {"content-type": kind, "accept": query.pop("accept", JSON)}
    content = b"" if body is None else json.dumps(body).encode()
    request = HttpRequest(method, path, tuple(query.items()), headers, content)
    answer = server.answer(request)
    server.settle()
    assert isinstance(answer, HttpResponse)
    return answer


def stored(server: ApiServer) -> str:
    """Return everything in the store as text, with the order of the fields."""
    return json.dumps(
        [
            (name, record.key, record.revision, record.value)
            for name, records in sorted(server.store.checkpoint().records.items())
            for record in records.values()
            if record.revision > FIRST_REVISION
        ]
    )


def seen_by_a_watch(server: ApiServer, path: str) -> list[bytes]:
    """Return the events that a client gets that has watched from the start."""
    after = str(server.store.compacted)
    watch = server.answer(
        HttpRequest("GET", path, (("watch", "1"), ("resourceVersion", after)), {}, b"")
    )
    assert isinstance(watch, OpenWatch)
    return watch.take()


def definition(**properties: Any) -> dict[str, Any]:
    """Return the definition of Widgets with these fields in their spec."""
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def config_map(name: str = "one", **data: str) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {"metadata": {"name": name}, "data": data}


# ------------------------------------------------------------------------------ every history

names = st.sampled_from(["a", "b"])
values = st.sampled_from(["", "x", "y"])


def object_requests(path: str, made: Any, merged: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw requests about objects of one resource."""
    edits = st.sampled_from(merged)
    return st.one_of(
        st.tuples(st.just("POST"), st.just(path), made, st.just(JSON)),
        st.tuples(st.just("PUT"), names.map(lambda name: f"{path}/{name}"), made, st.just(JSON)),
        st.tuples(
            st.just("PATCH"), names.map(lambda name: f"{path}/{name}"), edits, st.just(MERGE)
        ),
        st.tuples(
            st.just("PATCH"), names.map(lambda name: f"{path}/{name}/status"), edits, st.just(MERGE)
        ),
        st.tuples(
            st.just("DELETE"), names.map(lambda name: f"{path}/{name}"), st.none(), st.just(JSON)
        ),
        st.tuples(st.just("DELETE"), st.just(path), st.none(), st.just(JSON)),
    )


def manifests(spec: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw manifests with these contents, some with a finalizer, a generated name or a version."""
    return st.builds(
        lambda name, extra, content: {"metadata": {"name": name, **extra}, **content},
        names,
        st.sampled_from([{}, {"finalizers": ["example.com/x"]}, {"resourceVersion": "12"}]),
        spec,
    )


EDITS = [
    {"data": {"key": "z"}},
    {"data": None},
    {"metadata": {"finalizers": None}},
    {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"resourceVersion": "9"}, "data": {"key": "q"}},
    {"spec": {"replicas": 2}},
    {"spec": {"size": -1}},
    {"status": {"seen": 1}},
]
OPERATIONS = st.one_of(
    object_requests(CONFIG_MAPS, manifests(st.builds(lambda v: {"data": {"key": v}}, values)), EDITS),
    object_requests(
        WIDGETS,
        manifests(
            st.builds(
                lambda size: {
                    "apiVersion": "example.com/v1",
                    "kind": "Widget",
                    "spec": {"size": size, "unknown": 1},
                },
                st.sampled_from([1, 2.0, "big"]),
            )
        ),
        EDITS,
    ),
    object_requests(
        SERVICES,
        manifests(st.just({"spec": {"ports": [{"port": 80}]}})),
        [{"spec": {"ports": [{"port": 81}]}}, *EDITS],
    ),
    object_requests(
        DEPLOYMENTS,
        manifests(
            st.just(
                {
                    "spec": {
                        "replicas": 1,
                        "selector": {"matchLabels": {"a": "b"}},
                        "template": {
                            "metadata": {"labels": {"a": "b"}},
                            "spec": {"containers": [{"name": "c", "image": "i"}]},
                        },
                    }
                }
            )
        ),
        EDITS,
    ),
    st.tuples(st.just("POST"), st.just(CONFIG_MAPS), st.just({"metadata": {"generateName": "g-"}}), st.just(JSON)),
    st.tuples(st.just("DELETE"), st.just("/api/v1/namespaces/default"), st.none(), st.just(JSON)),
    st.tuples(st.just("wait"), st.sampled_from([0.4, 1.0, 30.0]), st.none(), st.just(JSON)),
)  # fmt: skip


def played(memo: RequestMemo | None, history: list[Any]) -> tuple[list[Any], str, list[bytes]]:
    """Send all requests of a history; return the answers, the store, and what watches saw."""
    environment = CountingEnvironment()
    server = ApiServer(environment=environment, actors=cluster_actors(), memo=memo)
    assert server.create(definition(size={"type": "integer", "minimum": 0})) == ""
    answers: list[Any] = []
    for method, path, body, kind in history:
        if method == "wait":
            environment.time += timedelta(seconds=path)
            server.settle()
        else:
            answers.append(send(server, method, path, body, kind))
    events = [
        line
        for path in (CONFIG_MAPS, WIDGETS, DEPLOYMENTS)
        for line in seen_by_a_watch(server, path)
    ]
    return answers, stored(server), events


def test_any_history_has_the_same_answers_and_effects_from_memory() -> None:
    """The memory is never emptied, so it holds the answers of all earlier histories."""
    memo = RequestMemo()

    @settings(max_examples=30, deadline=None)
    @given(st.lists(OPERATIONS, max_size=10))
    def check(history: list[Any]) -> None:
        expected = played(None, history)
        assert played(memo, history) == expected
        assert played(memo, history) == expected

    check()
    assert memo.hits > memo.misses, "the test would prove nothing"


# ---------------------------------------------------------------------------- single inputs


def both(memo: RequestMemo) -> tuple[ApiServer, ApiServer]:
    """Return a server with a memory and one without."""
    return ApiServer(memo=memo), ApiServer(memo=None)


def warmed(*requests: tuple[Any, ...]) -> RequestMemo:
    """Return a memory with the answers of one server to these requests."""
    memo = RequestMemo()
    server = ApiServer(memo=memo)
    for request in requests:
        send(server, *request)
    return memo


def test_a_repeated_request_is_answered_from_memory() -> None:
    """All requests of a second server with the same history are."""
    create = ("POST", CONFIG_MAPS, config_map(key="x"))
    memo = warmed(create)
    before = memo.misses
    assert send(ApiServer(memo=memo), *create).status == 201
    assert memo.misses == before


def test_the_resource_version_is_that_of_this_server() -> None:
    """One more write came before; the answer and the store have the next revision."""
    create = ("POST", CONFIG_MAPS, config_map(key="x"))
    change = ("PATCH", f"{CONFIG_MAPS}/one", {"data": {"key": "y"}}, MERGE)
    nothing = ("PATCH", f"{CONFIG_MAPS}/one", {"data": {"key": "y"}}, MERGE)
    memo = warmed(create, change, nothing)
    servers = both(memo)
    for server in servers:
        server.store.put("others", "one", {"metadata": {}})  # no uid is drawn for it
    hits = memo.hits
    for request in (create, change, nothing):
        assert send(servers[0], *request) == send(servers[1], *request)
    assert memo.hits == hits + 3
    assert stored(servers[0]) == stored(servers[1])


def test_a_resource_version_in_the_body_is_compared_with_that_of_the_object() -> None:
    """The same update conflicts if the same object has another resourceVersion."""
    create = ("POST", CONFIG_MAPS, config_map(key="x"))
    first = ApiServer(memo=None)
    version = json.loads(send(first, *create).body)["metadata"]["resourceVersion"]
    change = ("PATCH", f"{CONFIG_MAPS}/one", {"metadata": {"resourceVersion": version}}, MERGE)
    memo = warmed(create, change)
    server = ApiServer(memo=memo)
    server.store.put("others", "one", {"metadata": {}})
    send(server, *create)
    assert send(server, *change).status == 409


def test_a_json_patch_that_copies_the_metadata_sees_the_resource_version_of_this_server() -> None:
    """A JSON patch does not have to name the field to copy it."""
    schema = {"kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    copy = [{"op": "copy", "from": "/metadata", "path": "/spec/kept"}]
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one"},
        "spec": {},
    }
    memo = RequestMemo()
    answers = []
    for one, more in ((memo, 0), (memo, 1), (None, 1)):
        server = ApiServer(memo=one)
        server.create(definition(**schema))
        for number in range(more):
            server.store.put("others", str(number), {"metadata": {}})
        send(server, "POST", WIDGETS, widget)
        answers.append(send(server, "PATCH", f"{WIDGETS}/one", copy, JSON_PATCH))
    assert answers[1] == answers[2] != answers[0]


def test_another_schema_of_the_same_kind_validates_anew() -> None:
    """A definition belongs to the inputs, also one that changes on the same server."""
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one"},
        "spec": {"size": 1},
    }
    memo, statuses = RequestMemo(), []
    for minimum in (0, 5):
        server = ApiServer(memo=memo)
        server.create(definition(size={"type": "integer", "minimum": minimum}))
        statuses.append(send(server, "POST", WIDGETS, widget).status)
    assert statuses == [201, 422]


def test_rbac_and_another_user_are_not_answered_from_memory() -> None:
    """A server without RBAC allowed the request before."""
    request = HttpRequest("POST", CONFIG_MAPS, (), {}, json.dumps(config_map()).encode())
    memo, statuses = RequestMemo(), []
    guest = User("guest", ("system:authenticated",))
    for rbac, user in ((False, guest), (True, guest), (True, None)):
        answer = ApiServer(memo=memo, rbac=rbac).answer(request, user)
        assert isinstance(answer, HttpResponse)
        statuses.append(answer.status)
    assert statuses == [201, 403, 201]


def test_a_namespace_that_is_being_deleted_refuses_what_it_accepted_before() -> None:
    """The namespace is an object that the request reads."""
    team = ("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    create = ("POST", "/api/v1/namespaces/team/configmaps", config_map(key="x"))
    servers = both(warmed(team, create))
    answers = []
    for server in servers:
        send(server, *team)
        send(server, "DELETE", "/api/v1/namespaces/team")
        answers.append(send(server, *create))
    assert answers[0] == answers[1]
    assert answers[0].status == 403


def test_the_time_is_that_of_this_server() -> None:
    """It is an input of the request; nothing else differs here."""
    create = ("POST", CONFIG_MAPS, config_map(key="x"))
    servers = both(warmed(create))
    for server in servers:
        _environment(server).time += timedelta(seconds=5)
    assert send(servers[0], *create) == send(servers[1], *create)


def test_uids_are_those_of_this_server() -> None:
    """One more was drawn before; nothing else differs here."""
    create = ("POST", CONFIG_MAPS, config_map(key="x"))
    servers = both(warmed(create))
    for server in servers:
        _environment(server).uid()
    assert send(servers[0], *create) == send(servers[1], *create)


def test_generated_names_are_those_of_this_server() -> None:
    """One more suffix was drawn before; nothing else differs here."""
    create = ("POST", CONFIG_MAPS, {"metadata": {"generateName": "g-"}})
    servers = both(warmed(create))
    for server in servers:
        _environment(server).suffix()
    assert send(servers[0], *create) == send(servers[1], *create)


def test_a_server_with_rbac_does_not_use_the_answers_of_one_without() -> None:
    """The request reads and draws nothing, so only the authorizer tells the servers apart."""
    headers = {"content-type": MERGE}
    request = HttpRequest("PATCH", f"{CONFIG_MAPS}/missing", (), headers, b"{}")
    memo, statuses = RequestMemo(), []
    guest = User("guest", ("system:authenticated",))
    for rbac in (False, True, False):
        answer = ApiServer(memo=memo, rbac=rbac).answer(request, guest)
        assert isinstance(answer, HttpResponse)
        statuses.append(answer.status)
    assert statuses == [404, 403, 404]


def test_all_objects_that_a_request_looks_through_are_inputs() -> None:
    """A Service gets a cluster IP that no other Service has."""
    create = ("POST", SERVICES, {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}]}})
    taken = json.loads(send(ApiServer(memo=None), *create).body)["spec"]["clusterIP"]
    servers = both(warmed(create))
    other = {"clusterIP": taken, "clusterIPs": [taken]}
    for server in servers:
        metadata = {"name": "other", "namespace": "default", "uid": "other"}
        server.store.put("services", "default/other", {"metadata": metadata, "spec": other})
    answers = [send(server, *create) for server in servers]
    assert answers[0] == answers[1]
    assert json.loads(answers[0].body)["spec"]["clusterIP"] != taken


def _environment(server: ApiServer) -> CountingEnvironment:
    environment = server.core.environment
    assert isinstance(environment, CountingEnvironment)
    return environment


def test_other_forms_of_answers_are_made_anew() -> None:
    """Tables, YAML and lists hold more than the object that was written."""
    for accept in ("application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"):
        memo = RequestMemo()
        for round_ in range(2):
            answers: list[HttpResponse] = []
            for server in both(memo):
                for number in range(round_):
                    server.store.put("others", str(number), {"metadata": {}})
                answers.append(
                    send(server, "POST", CONFIG_MAPS, config_map(key="x"), accept=accept)
                )
            assert answers[0] == answers[1]


def test_the_memory_is_limited() -> None:
    """The oldest requests are forgotten."""
    memo = RequestMemo(kept_max=3)
    server = ApiServer(memo=memo)
    for number in range(10):
        send(server, "POST", CONFIG_MAPS, config_map(f"n{number}"))
    assert len(memo) == 3


def test_many_states_of_one_request_are_limited_as_well() -> None:
    """A request that is repeated in ever other states does not fill the memory."""
    memo = RequestMemo(kept_max=3)
    server = ApiServer(memo=memo)
    send(server, "POST", CONFIG_MAPS, config_map())
    for number in range(10):
        send(server, "PATCH", f"{CONFIG_MAPS}/one", {"data": {"key": str(number)}}, MERGE)
        send(server, "PATCH", f"{CONFIG_MAPS}/one", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert len(memo) <= 3

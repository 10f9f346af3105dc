"""Details of requests, with the texts that the real server answered."""

from typing import Any

import orjson
import pytest

from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.apiserver.auth.users import ADMIN
from myrmidon.apiserver.requests.watches import OpenWatch
from myrmidon.apiserver.server import ApiServer

META = "as=Table;g=meta.k8s.io;v=v1"


def ask(
    method: str, path: str, body: bytes = b"", *, accept: str = "", server: ApiServer | None = None
) -> Any:
    """Send a request; return the outcome."""
    path, _, text = path.partition("?")
    query = tuple(
        (key, value) for key, _, value in (pair.partition("=") for pair in text.split("&"))
    )
    headers = {"content-type": "application/json", "accept": accept}
    return (server or ApiServer()).answer(
        HttpRequest(method, path, query if text else (), headers, body)
    )


def message(answer: HttpResponse) -> str:
    """The message of a failure."""
    return str(orjson.loads(answer.body)["message"])


@pytest.mark.parametrize(
    ("path", "body", "problems"),
    [
        (
            "/api/v1/namespaces/default/configmaps",
            (
                b'{"metadata":{"name":"x","zzz":1,"labels":{"a":"b","a":"c"}},"data":{"k":"1","k":"2"},'
                b'"foo":1,"foo":2,"abc":1}'
            ),
            (
                'unknown field "metadata.zzz", duplicate field "metadata.labels.a", '
                'duplicate field "data.k", unknown field "foo", unknown field "abc"'
            ),
        ),
        (
            "/api/v1/namespaces/default/configmaps",
            (
                b'{"foo":{"a":1,"a":2},"metadata":{"name":"x"},"metadata":{"name":"y","bar":1},'
                b'"data":{"a":"1","a":"2"}}'
            ),
            (
                'unknown field "foo", duplicate field "metadata", unknown field "metadata.bar", '
                'duplicate field "data.a"'
            ),
        ),
        (
            "/api/v1/namespaces/default/pods",
            (
                b'{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","u2":1,'
                b'"tty":true,"tty":false}],"u3":2},"zeta":1,"alpha":2}'
            ),
            (
                'unknown field "spec.containers[0].u2", duplicate field "spec.containers[0].tty", '
                'unknown field "spec.u3", unknown field "zeta", unknown field "alpha"'
            ),
        ),
    ],
)
def test_strict_decoding_tells_problems_in_the_order_of_the_document(
    path: str, body: bytes, problems: str
) -> None:
    """Unknown and duplicate fields as the decoder meets them."""
    answer = ask("POST", f"{path}?fieldValidation=Strict", body)

    assert answer.status == 400
    assert message(answer).partition("strict decoding error: ")[2] == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("invalid", 'time: invalid duration "invalid"'),
        ("5", 'time: missing unit in duration "5"'),
        ("-1.5", 'time: missing unit in duration "-1.5"'),
        ("5s", ""),
        ("0", ""),
        ("", ""),
        ("-5s", ""),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/namespaces", "/api", "/version"])
def test_a_timeout_must_be_a_duration(path: str, text: str, problem: str) -> None:
    """Whatever is asked for; it is checked before the token."""
    answer = ask("GET", f"{path}?timeout={text}", server=ApiServer(users={"t": ADMIN}))

    if problem:
        assert answer.status == 400
        assert message(answer) == f"invalid timeout specified in the request URL - {problem}"
    else:
        assert answer.status == (200 if path == "/version" else 403)


def test_a_watch_has_no_timeout_to_check() -> None:
    """Its parameter is timeoutSeconds."""
    assert isinstance(ask("GET", "/api/v1/namespaces?watch=1&timeout=invalid"), OpenWatch)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
        ("0099-12-31T23:59:59+01:00", "0099-12-31T22:59:59Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ],
)
def test_old_times(sent: str, stored: str | None) -> None:
    """Go's zero time is null; all others are written with four digits of the year."""
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"namespace": "default"},
        "firstTimestamp": sent,
    }
    answer = ask("POST", "/api/v1/namespaces/default/events", orjson.dumps(event))

    assert orjson.loads(answer.body)["firstTimestamp"] == stored


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (f"application/json;{META}", "Table"),
        (
            f"application/json;{META.replace('Table', 'PartialObjectMetadata')}",
            "PartialObjectMetadata",
        ),
        ("application/json", "Pod"),
    ],
)
def test_a_bookmark_has_the_form_of_the_events(accept: str, kind: str) -> None:
    """The version and the annotation are where a client looks for them."""
    path = "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    watch = ask("GET", f"{path}&resourceVersionMatch=NotOlderThan", accept=accept)
    assert isinstance(watch, OpenWatch)
    [line] = watch.take()
    event = orjson.loads(line)
    obj = event["object"]
    inner = obj["rows"][0]["object"] if kind == "Table" else obj

    assert (event["type"], obj["kind"]) == ("BOOKMARK", kind)
    assert obj["metadata"]["resourceVersion"] == "5"
    assert inner["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


CONFIG = "/api/v1/namespaces/default/configmaps"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize("version", ["0", "abc", "7"])
def test_the_version_of_a_new_object(version: str, query: str) -> None:
    """It is an error only if it is a revision and the object would be stored."""
    body = orjson.dumps({"metadata": {"name": "x", "resourceVersion": version}})
    answer = ask("POST", f"{CONFIG}{query}", body)
    refused = version == "7" and not query
    assert answer.status == (500 if refused else 201)
    if refused:
        assert message(answer) == "resourceVersion should not be set on objects to be created"
    elif query:
        assert orjson.loads(answer.body)["metadata"]["resourceVersion"] == version


def test_a_review_is_not_a_table() -> None:
    """A client that accepts nothing else is told what there is."""
    body = b'{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}'
    answer = ask("POST", REVIEW, body, accept=f"application/json;{META}")
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert (answer.status, message(answer)) == (
        406,
        f"only the following media types are accepted: {known}",
    )
    accept = f"application/json;{META},application/json"
    assert ask("POST", REVIEW, body, accept=accept).status == 201


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("10.0.0.200", ""),
        ("2001:db8::1", ""),
        ("2001:DB8::1", 'must be in canonical form ("2001:db8::1")'),
        ("2001:db8:0::1", 'must be in canonical form ("2001:db8::1")'),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("web", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_the_name_of_an_address(name: str, problem: str) -> None:
    """An IPAddress is named by its address, in canonical form."""
    parent = {"resource": "services", "name": "x", "namespace": "default", "group": ""}
    body = orjson.dumps({"metadata": {"name": name}, "spec": {"parentRef": parent}})
    answer = ask("POST", ADDRESSES, body)
    assert answer.status == (422 if problem else 201)
    if problem:
        assert f'Invalid value: "{name}": {problem}' in message(answer)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            b"metadata:\n\tname: x\n",
            (
                "line 2: found character that cannot start any token "
                "(6d657461646174613a0a096e616d653a20780a)"
            ),
        ),
        (b"- \ta\n", "found character that cannot start any token (2d2009610a)"),
        (
            b"metadata:\n  name: tab5\ndata:\n  a:\n  \tb\n",
            (
                "line 5: found character that cannot start any token "
                "(6d657461646174613a0a20206e616d653a20746162350a646174613a0a20 ...)"
            ),
        ),
    ],
)
def test_a_text_that_is_not_yaml(text: bytes, problem: str) -> None:
    """The error is go-yaml's, with the first bytes of the body."""
    headers = {"content-type": "application/yaml", "accept": ""}
    answer = ApiServer().answer(HttpRequest("POST", CONFIG, (), headers, text))
    assert isinstance(answer, HttpResponse)
    said = "the object provided is unrecognized (must be of type ConfigMap): yaml: "
    assert message(answer) == said + problem


def test_metrics_count_the_objects() -> None:
    """As kube-apiserver names that metric."""
    body = ask("GET", "/metrics").body.decode()
    assert 'apiserver_storage_objects{resource="namespaces"} 4\n' in body

"""Requests as values."""

import orjson
import pytest

from myrmidon.api import Quantity
from myrmidon.api.objects import kinds
from myrmidon.api.objects.kinds import CONFIG_MAP
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch, Request, Verb
from myrmidon.api.requests.transport import HttpResponse, query_string
from myrmidon.errors import OutputError

REF = ObjectRef(kinds.DEPLOYMENT, "web", "default")
PATH = "/apis/apps/v1/namespaces/default/deployments"


def test_a_create_is_sent_to_the_collection_and_the_rest_to_the_object() -> None:
    """The name of a new object is in its body."""
    create = Request(Verb.CREATE, REF, {"kind": "Deployment"}).to_http()
    delete = Request(Verb.DELETE, REF).to_http()

    assert (create.method, create.path) == ("POST", PATH)
    assert orjson.loads(create.body) == {"kind": "Deployment"}
    assert create.headers == {"accept": "application/json", "content-type": "application/json"}
    assert (delete.method, delete.path, delete.body) == ("DELETE", f"{PATH}/web", b"")
    assert delete.headers == {"accept": "application/json"}


def test_create_of_a_subresource_names_the_object() -> None:
    """An eviction is a POST to the Pod."""
    request = Request(Verb.CREATE, REF, {}, subresource="scale")

    assert request.to_http().path == f"{PATH}/web/scale"
    assert str(request) == "create Deployment.apps default/web/scale"


@pytest.mark.parametrize("patch", Patch)
def test_a_patch_has_its_content_type(patch: Patch) -> None:
    """The server refuses application/json for a patch."""
    request = Request(Verb.PATCH, REF, {}, patch=patch, query=(("force", "true"),))

    assert request.to_http().headers["content-type"] == patch.value
    assert request.to_http().query == (("force", "true"),)
    assert str(request) == "patch Deployment.apps default/web"


def test_only_reads_are_not_writes() -> None:
    """Every verb that can change an object is a write."""
    assert [verb for verb in Verb if not Request(verb, REF).is_write] == [Verb.GET]


def test_a_response_finds_its_headers() -> None:
    """The first one of a name, None if there is none."""
    response = HttpResponse(200, (("warning", "a"), ("warning", "b")))

    assert response.header("warning") == "a"
    assert response.header("retry-after") is None


def test_a_body_without_json_names_the_path() -> None:
    """Large numbers and other values that the encoder refuses."""
    ref = ObjectRef(kinds.CONFIG_MAP, "a", "default")
    with pytest.raises(OutputError) as caught:
        Request(Verb.PATCH, ref, {"data": {"a": "\ud800"}}).to_http()

    assert str(caught.value).startswith(
        "patch ConfigMap default/a cannot be written as JSON: data.a holds half of a surrogate pair"
    )
    day = Request(Verb.PATCH, ref, {"data": {"a": Quantity("1Gi")}}).to_http()
    assert day.body == b'{"data":{"a":"1Gi"}}'


def test_a_query_is_escaped_for_the_wire() -> None:
    """In their order."""
    assert (
        query_string((("fieldManager", "a b/c"), ("x", "é"))) == "fieldManager=a%20b%2Fc&x=%C3%A9"
    )
    assert query_string(()) == ""


def test_a_request_says_whether_it_names_a_field_manager() -> None:
    """Only a write that names none gets the manager of the controller."""
    ref = ObjectRef(CONFIG_MAP, "a", "default")
    query = (("dryRun", "All"), ("fieldManager", "kubectl"))

    assert Request(Verb.PATCH, ref, query=query).names_manager
    assert not Request(Verb.PATCH, ref, query=query[:1]).names_manager

"""Requests as values."""

import orjson
import pytest

from myrmidon.api import kinds
from myrmidon.api.refs import ObjectRef
from myrmidon.api.requests import Patch, Request, Verb, collection_path
from myrmidon.api.wire import HttpResponse, query_string

REF = ObjectRef(kinds.DEPLOYMENT, "web", "default")
PATH = "/apis/apps/v1/namespaces/default/deployments"


def test_create_goes_to_the_collection_and_the_rest_to_the_object() -> None:
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
def test_a_patch_says_in_which_language_it_is_written(patch: Patch) -> None:
    """The server refuses application/json for a patch."""
    request = Request(Verb.PATCH, REF, {}, patch=patch, query=(("force", "true"),))

    assert request.to_http().headers["content-type"] == patch.value
    assert request.to_http().query == (("force", "true"),)
    assert str(request) == "patch Deployment.apps default/web"


def test_only_reading_is_no_write() -> None:
    """Whatever can change something is a write."""
    assert [verb for verb in Verb if not Request(verb, REF).is_write] == [Verb.GET]


def test_collections_are_of_a_namespace_or_of_all() -> None:
    """A cluster-scoped kind has one collection; names are escaped."""
    assert collection_path(kinds.DEPLOYMENT, "default") == PATH
    assert collection_path(kinds.DEPLOYMENT) == "/apis/apps/v1/deployments"
    assert collection_path(kinds.NAMESPACE, "default") == "/api/v1/namespaces"
    odd = Request(Verb.GET, ObjectRef(kinds.CLUSTER_ROLE, "system:a/b")).to_http()
    assert odd.path == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%2Fb"


def test_a_response_finds_its_headers() -> None:
    """The first of a name, None where there is none."""
    response = HttpResponse(200, (("warning", "a"), ("warning", "b")))

    assert response.header("warning") == "a"
    assert response.header("retry-after") is None


def test_a_query_is_escaped_for_the_wire() -> None:
    """In its order."""
    assert (
        query_string((("fieldManager", "a b/c"), ("x", "é"))) == "fieldManager=a%20b%2Fc&x=%C3%A9"
    )
    assert query_string(()) == ""

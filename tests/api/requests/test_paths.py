"""A path names exactly the requested object, or is refused before anything is sent."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.paths import collection_path, new_object_path, object_path
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import MalformedNameError

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
ODD = st.text(alphabet=st.sampled_from("a./%?#&=: \n\0\u202eäZ\ud800"), max_size=5)
NAMES = ODD | st.text(max_size=300) | st.sampled_from([".", "..", "", "a" * 253, "a" * 254])


def segments(path: str) -> list[str]:
    """Return the path as a server splits it: by slashes first, then each part unescaped."""
    assert "//" not in path
    found = urlsplit(path)
    assert (found.path, found.query, found.fragment) == (path, "", "")
    return [unquote(part) for part in found.path.split("/")[1:]]


@given(name=NAMES, namespace=NAMES | st.just("default"), subresource=ODD | st.just("status"))
def test_a_path_names_exactly_its_object_or_is_refused(
    name: str, namespace: str, subresource: str
) -> None:
    """For any name, namespace and subresource."""
    ref = ObjectRef(kinds.CONFIG_MAP, name, namespace)
    try:
        path = object_path(ref, subresource)
    except MalformedNameError:
        return
    expected = ["api", "v1", "namespaces", namespace, "configmaps", name]
    assert segments(path) == ([*expected, subresource] if subresource else expected)
    assert path.isascii()
    assert path.isprintable()


@given(name=NAMES)
def test_a_cluster_scoped_object_needs_no_namespace(name: str) -> None:
    """A given namespace is ignored."""
    try:
        path = object_path(ObjectRef(kinds.CLUSTER_ROLE, name, "ignored"))
    except MalformedNameError:
        return
    assert segments(path) == ["apis", "rbac.authorization.k8s.io", "v1", "clusterroles", name]


@given(part=NAMES)
def test_a_kind_is_checked_as_well(part: str) -> None:
    """It may come from a manifest."""
    for kind in (
        Kind(part, "v1", "A", "as"),
        Kind("g", part, "A", "as"),
        Kind("g", "v1", "A", part),
    ):
        try:
            path = collection_path(kind, "default")
        except MalformedNameError:
            continue
        group = ["apis", kind.group] if kind.group else ["api"]
        expected = [*group, kind.version, "namespaces", "default", kind.plural]
        assert segments(path) == expected


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize(
    "ref",
    [
        ObjectRef(kinds.SECRET, "../configmaps/a", "default"),
        ObjectRef(kinds.SECRET, "..", "default"),
        ObjectRef(kinds.SECRET, "a%2fb", "default"),
        ObjectRef(kinds.SECRET, "a\nb", "default"),
        ObjectRef(kinds.SECRET, "a" * 254, "default"),
        ObjectRef(kinds.SECRET, "a", "kube-system/secrets/b"),
        ObjectRef(kinds.SECRET, "a", ".."),
        ObjectRef(kinds.SECRET, "a", "Default"),
        ObjectRef(kinds.SECRET, "a"),
    ],
    ids=str,
)
def test_no_verb_sends_a_malformed_name(verb: Verb, ref: ObjectRef) -> None:
    """The error says in one sentence what is wrong, with a fix."""
    with pytest.raises(MalformedNameError, match=r"nothing was sent for [^\n]*\n  fix: "):
        Request(verb, ref, {}).to_http()


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb is not Verb.CREATE])
def test_an_empty_name_is_not_a_collection(verb: Verb) -> None:
    """A GET would be a list, and a DELETE would delete every Secret of the namespace."""
    with pytest.raises(MalformedNameError, match="it has no name"):
        Request(verb, ObjectRef(kinds.SECRET, "", "default")).to_http()


def test_a_new_object_may_leave_its_name_to_the_server() -> None:
    """With generateName; its namespace is still needed."""
    assert new_object_path(ObjectRef(kinds.DEPLOYMENT, "", "default")) == DEPLOYMENTS
    assert new_object_path(ObjectRef(kinds.DEPLOYMENT, "web", "default")) == DEPLOYMENTS
    with pytest.raises(MalformedNameError, match="no namespace"):
        new_object_path(ObjectRef(kinds.DEPLOYMENT, ""))


def test_collections_are_of_a_namespace_or_of_all() -> None:
    """A cluster-scoped kind has one collection."""
    assert collection_path(kinds.DEPLOYMENT, "default") == DEPLOYMENTS
    assert collection_path(kinds.DEPLOYMENT) == "/apis/apps/v1/deployments"
    assert collection_path(kinds.NAMESPACE, "default") == "/api/v1/namespaces"


def test_names_of_roles_are_escaped() -> None:
    """Colons and spaces are allowed in them."""
    path = object_path(ObjectRef(kinds.CLUSTER_ROLE, "system:node reader"))
    assert path.endswith("/clusterroles/system%3Anode%20reader")
    assert object_path(ObjectRef(kinds.CLUSTER_ROLE, ".a")).endswith("/clusterroles/.a")


@pytest.mark.parametrize("subresource", ["../x", "a/b", "a b", "%2e", "?x"])
def test_a_malformed_subresource_is_refused(subresource: str) -> None:
    """It would name another object, or none."""
    with pytest.raises(MalformedNameError, match="is not the name of a subresource"):
        object_path(ObjectRef(kinds.SECRET, "a", "default"), subresource)

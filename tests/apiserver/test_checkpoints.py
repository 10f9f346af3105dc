"""A server goes back to a checkpoint: the same objects, an empty history, and new actors."""

from myrmidon.api import Json
from myrmidon.apiserver.actors import housekeepers
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer


def config_map(name: str) -> Json:
    """Build a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def names(server: ApiServer) -> list[str]:
    """Return the ConfigMaps of the server."""
    return [record.value["metadata"]["name"] for record in server.store.scan("configmaps")]


def test_a_rollback_forgets_what_came_after_the_checkpoint() -> None:
    """Objects, revisions and listeners are those of the checkpoint, as often as it is used."""
    server = ApiServer(actors=housekeepers())
    assert server.create(config_map("before")) == ""
    checkpoint, revision = server.checkpoint(), server.store.revision
    for _ in range(2):
        woken: list[int] = []
        server.store.listen(lambda seen=woken: seen.append(1))  # type: ignore[misc]
        assert server.create(config_map("after")) == ""
        server.request("DELETE", "/api/v1/namespaces/default/configmaps/before")
        assert names(server) == ["after"]
        assert woken
        server.rollback(checkpoint, CountingEnvironment(), housekeepers())
        assert names(server) == ["before"]
        assert (server.store.revision, server.store.compacted) == (revision, revision)
        woken.clear()
        server.create(config_map("unheard"))
        assert woken == []
        server.rollback(checkpoint, CountingEnvironment(), housekeepers())


def test_new_actors_know_the_objects_of_the_checkpoint() -> None:
    """The garbage collector deletes the dependents of an owner that existed before."""
    server = ApiServer(actors=housekeepers())
    server.create(config_map("owner"))
    uid = server.store.scan("configmaps")[0].value["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [reference]
    server.create(child)
    checkpoint = server.checkpoint()
    server.rollback(checkpoint, CountingEnvironment(), housekeepers())
    server.request("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    server.settle()
    assert names(server) == []

"""The life of a web application in steps, and the objects that must exist after each."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from myrmidon.api.objects.accessors import Json
from myrmidon.testing import Harness
from tests.runtime.webapps import WebApp, WebApps, config_map, service, web_app, world

Step = Callable[[Harness], object]

LIFE: dict[str, Step] = {
    "create": lambda cluster: cluster.apply(web_app()),
    "change": lambda cluster: change(cluster, {"image": "shop:2", "replicas": 2}),
    "expose": lambda cluster: change(cluster, {"hosts": ["a.example"]}),
    "hide": lambda cluster: change(cluster, {"hosts": []}),
    "delete": lambda cluster: cluster.delete(WebApp, "shop"),
}

FOREIGN = (
    config_map("theirs", {"a": "b"}, namespace="default"),
    {**service(web_app("other")), "metadata": {"name": "other", "namespace": "default"}},
)


def change(cluster: Harness, spec: Json) -> Json:
    """Change the application, as its user would."""
    return cluster.patch(WebApp, "shop", {"spec": spec})


def settled(cluster: Harness) -> Iterator[tuple[str, dict[str, Json]]]:
    """Run the steps, and settle after each."""
    for name, step in LIFE.items():
        step(cluster)
        cluster.settle()
        yield name, world(cluster)


@cache
def calm() -> tuple[int, dict[str, dict[str, Json]]]:
    """Return the writes of a life without faults, and the cluster's objects after each step."""
    with Harness(WebApps(), manifests=FOREIGN) as cluster:
        worlds = dict(settled(cluster))
        return len(cluster.writes), worlds


def created(cluster: Harness) -> Counter[tuple[str, str]]:
    """Return how often each object was created."""
    return Counter(
        (one.request.path, one.body["metadata"]["name"])
        for one in cluster.writes
        if one.status == 201
    )

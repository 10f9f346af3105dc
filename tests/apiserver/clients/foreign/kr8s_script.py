# mypy: ignore-errors
"""A script for kr8s, in the manner of its documentation; it knows nothing of myrmidon."""

import threading

import kr8s
from kr8s.objects import ConfigMap, Deployment, Namespace, Pod, Service, new_class

print("version", kr8s.version()["major"], kr8s.version()["minor"])
api = kr8s.api()
print("whoami", kr8s.whoami())
print(
    "kinds",
    sorted(
        {r["kind"] for r in kr8s.api_resources() if r["name"] in ("pods", "deployments", "widgets")}
    ),
)

ns = Namespace({"metadata": {"name": "kr8s"}})
ns.create()
api.namespace = "kr8s"

pod = Pod(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "my-pod", "namespace": "kr8s"},
        "spec": {"containers": [{"name": "pause", "image": "gcr.io/google_containers/pause"}]},
    }
)
pod.create()
print("pod exists", pod.exists(), pod.status.phase)
pod.label({"foo": "bar"})
pod.label(fizz="buzz")
pod.annotate({"note": "hello"})
print("labels", dict(sorted(pod.labels.items())), pod.annotations["note"])
pod.label("fizz-") if hasattr(pod, "unlabel") else None
print(
    "by label", [p.name for p in kr8s.get("pods", namespace="kr8s", label_selector={"foo": "bar"})]
)
print(
    "by field",
    [
        p.name
        for p in kr8s.get("pods", namespace=kr8s.ALL, field_selector={"metadata.name": "my-pod"})
    ],
)

cm = ConfigMap({"metadata": {"name": "settings", "namespace": "kr8s"}, "data": {"a": "1"}})
cm.create()
cm.patch({"data": {"b": "2"}})
cm.patch([{"op": "replace", "path": "/data/a", "value": "9"}], type="json")
print("data", dict(sorted(ConfigMap.get("settings", namespace="kr8s").data.items())))

deployment = Deployment(
    {
        "metadata": {"name": "web", "namespace": "kr8s"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    }
)
deployment.create()
deployment.patch({"spec": {"replicas": 3}}, subresource="scale")
deployment.refresh()
print("replicas", deployment.spec.replicas)

svc = Service({"metadata": {"name": "web", "namespace": "kr8s"}, "spec": {"ports": [{"port": 80}]}})
svc.create()
print("service", svc.spec.type, bool(svc.spec.clusterIP))

Widget = new_class(kind="Widget", version="kr8s.example.com/v1", namespaced=True)
for name in ("one", "two"):
    Widget({"metadata": {"name": name, "namespace": "kr8s"}, "spec": {"size": 3}}).create()
print("widgets", sorted(w.name for w in kr8s.get("widgets.kr8s.example.com", namespace="kr8s")))

seen = []


def follow():
    for event, obj in kr8s.watch("configmaps", namespace="kr8s"):
        seen.append((event, obj.name))
        if event == "DELETED":
            return


watcher = threading.Thread(target=follow)
watcher.start()
while not seen:
    pass
cm.patch({"data": {"c": "3"}})
cm.delete()
watcher.join(10)
print("events", [event for event, name in seen if name == "settings"])
cm.wait("delete", timeout=5)
print("gone", not cm.exists())

try:
    Pod.get("nope", namespace="kr8s")
except kr8s.NotFoundError as error:
    print("not found", type(error).__name__)
try:
    pod2 = Pod(pod.raw)
    pod2.create()
except kr8s.ServerError as error:
    print("conflict", error.response.status_code)

pod.delete()
pod.wait("delete", timeout=5)
ns.delete()
ns.wait("delete", timeout=10)
print("done", not ns.exists())

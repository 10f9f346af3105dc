"""The web application whose life the tests of the runtime follow.

    configured ─▶ granted ─▶ deployed ─┬▶ exposed           finalizer:  drained ─▶ forgotten
                                       └▶ hidden

It has what is hard: kinds whose fields the server defaults, a child without an owner reference in
no namespace (recorded before it is made, deleted by us), two branches, a finalizer graph.
"""

from typing import Any

from pydantic import Field

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, Wait, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness

KINDS = (
    kinds.CONFIG_MAP,
    kinds.CLUSTER_ROLE,
    kinds.DEPLOYMENT,
    kinds.SERVICE,
    kinds.INGRESS,
)


class WebAppSpec(Model):
    """What a web application asks for."""

    image: str
    replicas: int = 1
    hosts: list[str] = Field(default_factory=list)


class WebAppStatus(Status):
    """Where it can be found."""

    url: str | None = None


class WebApp(Resource[WebAppSpec, WebAppStatus], group="test.myrmidon.dev", version="v1"):
    """A Deployment, a Service and, when it has hosts, an Ingress."""


class WebApps(Controller[WebApp]):
    """Runs web applications."""

    manages = KINDS
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Configured", then="granted")
    def configured(self, app: WebApp, out: OutputSet) -> Result:
        """Its configuration is in place."""
        out.apply(config_map(f"{app.name}-config", {"image": app.spec.image}))
        return Done()

    @state(condition="Granted", then="deployed")
    def granted(self, app: WebApp, out: OutputSet) -> Result:
        """It has a role, which lives in no namespace."""
        out.apply(cluster_role(role_name(app)), owner_refs=False)
        return Done()

    @state(condition="Deployed", then=("exposed", "hidden"))
    def deployed(self, app: WebApp, out: OutputSet) -> Result:
        """It is deployed."""
        out.apply_all([deployment(app), service(app)])
        return Done(goto="exposed" if app.spec.hosts else "hidden")

    @state(condition="Exposed")
    def exposed(self, app: WebApp, out: OutputSet) -> Result:
        """It is found from outside."""
        out.apply(ingress(app))
        app.status.url = f"https://{app.spec.hosts[0]}"
        return Done()

    @state(condition="Hidden")
    def hidden(self, app: WebApp, out: OutputSet) -> Result:
        """It is not found from outside."""
        app.status.url = None
        return Done()

    @state(finalizer=True, condition="Drained", then="forgotten")
    async def drained(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """No client reaches it any more."""
        out.delete(kinds.INGRESS, app.name)
        if await ctx.get(kinds.INGRESS, app.name) is not None:
            return Wait("Draining", "the ingress is still there", keep_outputs=True)
        return Done()

    @state(condition="Forgotten")
    def forgotten(self, app: WebApp, out: OutputSet) -> Result:
        """Its configuration says so."""
        out.apply(config_map(f"{app.name}-config", {"gone": "true"}))
        return Done()


def web_app(name: str = "shop", **spec: Any) -> WebApp:
    """A web application."""
    return WebApp(name=name, spec=WebAppSpec(**{"image": "shop:1", **spec}))


def role_name(app: WebApp) -> str:
    """The name of its role; unique in the cluster."""
    return f"{app.namespace}-{app.name}"


def config_map(name: str, content: dict[str, str], **metadata: Any) -> Json:
    """Build the smallest child."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": content,
    }


def cluster_role(name: str) -> Json:
    """Build a cluster-scoped child."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    }


def deployment(app: WebApp) -> Json:
    """Build a child with many fields that the server fills in."""
    labels = {"app": app.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name},
        "spec": {
            "replicas": app.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": app.spec.image,
                            "ports": [{"containerPort": 80}],
                            "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
                        }
                    ]
                },
            },
        },
    }


def service(app: WebApp) -> Json:
    """Build a child with an address that the server chooses."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app.name},
        "spec": {"selector": {"app": app.name}, "ports": [{"port": 80}]},
    }


def ingress(app: WebApp) -> Json:
    """Build the child that only one branch has."""
    backend = {"service": {"name": app.name, "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": app.name},
        "spec": {"rules": [{"host": host, "http": {"paths": paths}} for host in app.spec.hosts]},
    }


# ---------------------------------------------------------------------- comparing worlds

_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")


def world(cluster: Harness) -> dict[str, Json]:
    """Return all objects that a life leaves, without values that differ from run to run."""
    found: dict[str, Json] = {}
    for kind in (WebApp.KIND, *KINDS):
        for obj in cluster.list(kind, ""):
            meta = obj["metadata"]
            found[f"{obj['kind']} {meta['name']}"] = normalised(obj)
    return found


def normalised(obj: Json) -> Json:
    """Return an object without uids, versions, times and addresses."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    labels = {**meta.get("labels", {})}
    if "myrmidon.dev/parent-uid" in labels:
        labels["myrmidon.dev/parent-uid"] = "*"
    meta["labels"] = labels
    meta["annotations"] = {
        key: "*" if key.startswith("applied.") else value  # a fingerprint, of the namespace, too
        for key, value in (meta.get("annotations") or {}).items()
    }
    meta["ownerReferences"] = [{**owner, "uid": "*"} for owner in meta.get("ownerReferences") or ()]
    rest = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    spec = {key: value for key, value in (rest.get("spec") or {}).items() if "clusterIP" not in key}
    status = obj.get("status") or {}
    if obj["kind"] == "WebApp":
        status = {**status, "conditions": sorted(map(_timeless, status.get("conditions") or ()))}
        status["resourceRefs"] = sorted(map(str, status.get("resourceRefs") or ()))
    else:
        status = {}
    return {**rest, "spec": spec, "metadata": meta, "status": status}


def _timeless(condition: Json) -> str:
    stays = {key: value for key, value in condition.items() if key != "lastTransitionTime"}
    return str(sorted(stays.items()))

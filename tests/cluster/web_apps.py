"""The web application whose life the tests of the runtime follow on a real server.

    configured ─▶ granted ─▶ deployed ─┬▶ exposed           finalizer:  drained ─▶ forgotten
                                       └▶ hidden

It has what is hard: kinds whose fields the server defaults, a child without an owner reference in
no namespace (recorded before it is made, deleted by us), two branches, a finalizer graph that
deletes and waits.  Nothing makes Deployments available here, so no state waits for one.
"""

from datetime import timedelta
from typing import Any

from pydantic import Field

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Controller, ControllerOptions, Done, Result, Wait, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet


class WebAppSpec(Model):
    """What a web application asks for."""

    image: str
    replicas: int = 1
    hosts: list[str] = Field(default_factory=list)


class WebAppStatus(Status):
    """Where it can be found."""

    url: str | None = None


class WebApp(Resource[WebAppSpec, WebAppStatus], group="faults.myrmidon.dev", version="v1"):
    """A Deployment, a Service and, when it has hosts, an Ingress."""


class WebApps(Controller[WebApp]):
    """Runs web applications."""

    manages = (
        kinds.CONFIG_MAP,
        kinds.CLUSTER_ROLE,
        kinds.DEPLOYMENT,
        kinds.SERVICE,
        kinds.INGRESS,
    )
    options = ControllerOptions(
        prune=True, retry_min=timedelta(seconds=0.2), retry_max=timedelta(seconds=2)
    )

    @state(initial=True, condition="Configured", then="granted")
    def configured(self, app: WebApp, out: OutputSet) -> Result:
        """Its configuration is in place."""
        out.apply(config_map(app, {"image": app.spec.image}))
        return Done()

    @state(condition="Granted", then="deployed")
    def granted(self, app: WebApp, out: OutputSet) -> Result:
        """It has a ClusterRole, which is cluster-scoped and so has no owner."""
        out.apply(cluster_role(app), owner_refs=False)
        return Done()

    @state(condition="Deployed", then=("exposed", "hidden"))
    def deployed(self, app: WebApp, out: OutputSet) -> Result:
        """It is deployed."""
        out.apply_all([deployment(app), service(app)])
        return Done(goto="exposed" if app.spec.hosts else "hidden")

    @state(condition="Exposed")
    def exposed(self, app: WebApp, out: OutputSet) -> Result:
        """It is reachable from outside."""
        out.apply(ingress(app))
        app.status.url = f"https://{app.spec.hosts[0]}"
        return Done()

    @state(condition="Hidden")
    def hidden(self, app: WebApp, out: OutputSet) -> Result:
        """It is not reachable from outside; its Ingress is pruned."""
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
        out.apply(config_map(app, {"gone": "true"}))
        return Done()


# --------------------------------------------------------------------------- children


def config_map(app: WebApp, content: dict[str, str]) -> Json:
    """Build the smallest child."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{app.name}-config"},
        "data": content,
    }


def cluster_role(app: WebApp) -> Json:
    """Build a child without a namespace; its name is unique in the cluster."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{app.namespace}-{app.name}"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    }


def deployment(app: WebApp) -> Json:
    """Build a child with many fields that the server fills in."""
    labels = {"app": app.name}
    container = {
        "name": "main",
        "image": app.spec.image,
        "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name},
        "spec": {
            "replicas": app.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": template,
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
    paths: list[Any] = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": app.name},
        "spec": {"rules": [{"host": host, "http": {"paths": paths}} for host in app.spec.hosts]},
    }

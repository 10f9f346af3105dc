"""Runs web applications: branches, waits, a status field, a finalizer and a validator.

                            ┌──▶ exposed   when it has hosts
configured ──▶ deployed ────┤
                            └──▶ hidden    when it has none

deregistered                               when it is deleted
"""

from datetime import datetime, timedelta
from typing import Protocol, Self

from pydantic import Field

from myrmidon import (
    AdmissionContext,
    AdmissionRequest,
    Context,
    Controller,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    kinds,
    state,
    validates,
)
from myrmidon.api import Json

PORT = 8080

# ------------------------------------------------------------------------- the resource


class WebAppSpec(Model):
    """What the user asks for."""

    image: str = Field(min_length=1)
    """The image to run."""
    replicas: int = Field(default=1, ge=0, le=50)
    """How many pods run it."""
    hosts: list[str] = Field(default_factory=list)
    """The host names of its Ingress; without any there is no Ingress."""


class WebAppStatus(Status):
    """What the controller has observed."""

    url: str | None = None
    """The address of the application; absent without hosts."""


class WebApp(
    Resource[WebAppSpec, WebAppStatus],
    group="demo.myrmidon.dev",
    version="v1",
    short_names=["wa"],
    columns={
        "Image": ".spec.image",
        "Replicas": ".spec.replicas",
        "URL": ".status.url",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
):
    """A web application: a Deployment, a Service and, when it has hosts, an Ingress."""

    @validates()
    async def hosts_are_free(
        self, request: AdmissionRequest["WebApp"], ctx: AdmissionContext
    ) -> None:
        """No other application has one of the hosts.

        It looks at other objects, so it must be Python.  What concerns the object alone is in the
        model, and the API server checks it without a webhook.
        """
        for other in await ctx.list(WebApp, namespace=""):
            if (other.namespace, other.name) == (self.namespace, self.name):
                continue
            for index, host in enumerate(self.spec.hosts):
                if host in other.spec.hosts:
                    request.refuse(f"spec.hosts[{index}]", f"is a host of {key_of(other)}")


class WebAppV1Beta1Spec(Model):
    """What the user asked for in v1beta1: one host, and a number of pods called size."""

    image: str = Field(min_length=1)
    """The image to run."""
    size: int = Field(default=1, ge=0, le=50)
    """How many pods run it."""
    host: str | None = None
    """The host name of its Ingress; without one there is no Ingress."""


class WebAppV1Beta1(
    Resource[WebAppV1Beta1Spec, WebAppStatus],
    version="v1beta1",
    converts=WebApp,
    deprecated="demo.myrmidon.dev/v1beta1 WebApp is deprecated; use v1, which has several hosts",
):
    """A web application as it was written before v1.

    Further hosts of an application are kept in an annotation while it is shown as v1beta1.
    """

    def to_hub(self) -> WebApp:
        """Return it as v1."""
        old = self.spec
        hosts = [old.host] if old.host else []
        return WebApp(
            name=self.name, spec=WebAppSpec(image=old.image, replicas=old.size, hosts=hosts)
        )

    @classmethod
    def from_hub(cls, hub: WebApp) -> Self:
        """Return a v1 as v1beta1: with the first host."""
        spec = WebAppV1Beta1Spec(image=hub.spec.image, size=hub.spec.replicas)
        if hub.spec.hosts:
            spec.host = hub.spec.hosts[0]
        return cls(name=hub.name, spec=spec)


# ------------------------------------------------------------------------- the registry


class Registry(Protocol):
    """A service outside the cluster that hands out the addresses of applications.

    The controller depends only on this protocol, so that a test can pass in its own registry.
    """

    async def publish(self, name: str, url: str) -> None:
        """Hand out this address for the application from now on.  Must be idempotent."""

    async def withdraw(self, name: str, now: datetime) -> bool:
        """Stop handing out the address; return whether no client uses it any longer."""


class InMemoryRegistry:
    """A registry in this process.  Like a real one, it takes some time to drain an address."""

    def __init__(self, drain: timedelta = timedelta(seconds=2)) -> None:
        self.urls: dict[str, str] = {}
        self._drain, self._drained_at = drain, dict[str, datetime]()

    async def publish(self, name: str, url: str) -> None:
        """Store the address."""
        self.urls[name] = url

    async def withdraw(self, name: str, now: datetime) -> bool:
        """Remove the address; return whether its clients have had the time to leave."""
        if self.urls.pop(name, None) is not None:
            self._drained_at[name] = now + self._drain
        return now >= self._drained_at.get(name, now)


# ----------------------------------------------------------------------- the controller


class WebApps(Controller[WebApp]):
    """Runs every WebApp and publishes its address."""

    manages = (kinds.CONFIG_MAP, kinds.DEPLOYMENT, kinds.SERVICE, kinds.INGRESS)

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry or InMemoryRegistry()

    @state(initial=True, condition="Configured", then="deployed")
    def configured(self, app: WebApp, out: OutputSet) -> Result:
        """The ConfigMap, the Deployment and the Service are as the spec says."""
        out.apply_all((config_map(app), deployment(app), service(app)))
        return Done()

    @state(condition="Deployed", then=("exposed", "hidden"))
    async def deployed(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """All replicas are available."""
        # The cache already holds what `configured` wrote, so this Deployment is not stale.
        if not ctx.is_ready(await ctx.get(kinds.DEPLOYMENT, app.name)):
            after = timedelta(seconds=10)  # at the latest; a change of the Deployment comes sooner
            return Wait("RollingOut", "not all replicas are available", after=after)
        return Done(goto="exposed" if app.spec.hosts else "hidden")

    @state(condition="Exposed")
    async def exposed(self, app: WebApp, out: OutputSet) -> Result:
        """The application is reachable from outside under its hosts."""
        out.apply(ingress(app))
        app.status.url = f"http://{app.spec.hosts[0]}"
        await self.registry.publish(key_of(app), app.status.url)
        return Done()

    @state(condition="Hidden")
    async def hidden(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """The application is reachable only inside the cluster."""
        out.delete(kinds.INGRESS, app.name)
        app.status.url = None  # None removes the field on the server
        await self.registry.withdraw(key_of(app), ctx.now)
        return Done()

    @state(finalizer=True, condition="Deregistered")
    async def deregistered(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """The registry no longer hands out the address."""
        if not await self.registry.withdraw(key_of(app), ctx.now):
            after = timedelta(seconds=1)
            return Wait("Draining", "the registry still hands out the address", after=after)
        return Done()


# ------------------------------------------------------------------------- its children


def key_of(app: WebApp) -> str:
    """Return the name of the application in the registry."""
    return f"{app.namespace}/{app.name}"


def config_map(app: WebApp) -> Json:
    """Build the ConfigMap that the application reads when it starts."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": app.name},
        "data": {"HOSTS": ",".join(app.spec.hosts), "PORT": str(PORT)},
    }


def deployment(app: WebApp) -> Json:
    """Build the Deployment that runs the application."""
    labels = {"app.kubernetes.io/name": app.name}
    container = {
        "name": "web",
        "image": app.spec.image,
        "ports": [{"containerPort": PORT}],
        "envFrom": [{"configMapRef": {"name": app.name}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name, "labels": labels},
        "spec": {
            "replicas": app.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service(app: WebApp) -> Json:
    """Build the Service for access inside the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app.name},
        "spec": {
            "selector": {"app.kubernetes.io/name": app.name},
            "ports": [{"port": 80, "targetPort": PORT}],
        },
    }


def ingress(app: WebApp) -> Json:
    """Build the Ingress for access from outside."""
    backend = {"service": {"name": app.name, "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": app.name},
        "spec": {"rules": [{"host": host, "http": {"paths": paths}} for host in app.spec.hosts]},
    }

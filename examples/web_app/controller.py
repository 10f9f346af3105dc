"""Runs web applications: branches, waits, a status field and a finalizer.

                            ┌──▶ exposed   when it has hosts
configured ──▶ deployed ────┤
                            └──▶ hidden    when it has none

deregistered                               when it is deleted
"""

from datetime import datetime, timedelta
from typing import Protocol

from pydantic import Field

from myrmidon import (
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
    """Names under which the world finds it; none hides it."""


class WebAppStatus(Status):
    """What is the case."""

    url: str | None = None
    """Where to find it."""


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


# ------------------------------------------------------------------------- the registry


class Registry(Protocol):
    """Something outside of the cluster that must be told which application is where.

    A real one is a service with an API; the controller sees no more of it than this, so that a
    test can put its own in its place.
    """

    async def publish(self, name: str, url: str) -> None:
        """Hand out this address from now on; saying it twice is saying it once."""

    async def withdraw(self, name: str, now: datetime) -> bool:
        """Hand it out no more; whether everybody has forgotten it by now."""


class InMemoryRegistry:
    """A registry in this process.  As real ones do, it takes a moment to forget."""

    def __init__(self, drain: timedelta = timedelta(seconds=2)) -> None:
        self.urls: dict[str, str] = {}
        self._drain, self._forgotten_at = drain, dict[str, datetime]()

    async def publish(self, name: str, url: str) -> None:
        """Remember the address."""
        self.urls[name] = url

    async def withdraw(self, name: str, now: datetime) -> bool:
        """Forget the address; those who asked for it just before are given time to leave."""
        if self.urls.pop(name, None) is not None:
            self._forgotten_at[name] = now + self._drain
        return now >= self._forgotten_at.get(name, now)


# ----------------------------------------------------------------------- the controller


class WebApps(Controller[WebApp]):
    """Runs every WebApp and says where to find it."""

    manages = (kinds.CONFIG_MAP, kinds.DEPLOYMENT, kinds.SERVICE, kinds.INGRESS)

    def __init__(self, registry: Registry | None = None) -> None:
        self.registry = registry or InMemoryRegistry()

    @state(initial=True, condition="Configured", then="deployed")
    def configured(self, app: WebApp, out: OutputSet) -> Result:
        """Everything that runs it is written down as its spec says."""
        out.apply_all((config_map(app), deployment(app), service(app)))
        return Done()

    @state(condition="Deployed", then=("exposed", "hidden"))
    async def deployed(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """All replicas run."""
        # What `configured` wrote is in the cache by now, so this is no older Deployment.
        if not ctx.is_ready(await ctx.get(kinds.DEPLOYMENT, app.name)):
            after = timedelta(seconds=10)  # at the latest: a change of the Deployment wakes us
            return Wait("RollingOut", "not all replicas are available", after=after)
        return Done(goto="exposed" if app.spec.hosts else "hidden")

    @state(condition="Exposed")
    async def exposed(self, app: WebApp, out: OutputSet) -> Result:
        """The world finds it under its hosts."""
        out.apply(ingress(app))
        app.status.url = f"http://{app.spec.hosts[0]}"
        await self.registry.publish(key_of(app), app.status.url)
        return Done()

    @state(condition="Hidden")
    async def hidden(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """Only the cluster finds it."""
        out.delete(kinds.INGRESS, app.name)
        app.status.url = None  # None on purpose: the field is removed on the server
        await self.registry.withdraw(key_of(app), ctx.now)
        return Done()

    @state(finalizer=True, condition="Deregistered")
    async def deregistered(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """The registry has forgotten the application."""
        if not await self.registry.withdraw(key_of(app), ctx.now):
            after = timedelta(seconds=1)
            return Wait("Draining", "the registry still hands out the address", after=after)
        return Done()


# ------------------------------------------------------------------------- its children


def key_of(app: WebApp) -> str:
    """What the registry calls an application."""
    return f"{app.namespace}/{app.name}"


def config_map(app: WebApp) -> Json:
    """Build what the application reads at its start."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": app.name},
        "data": {"HOSTS": ",".join(app.spec.hosts), "PORT": str(PORT)},
    }


def deployment(app: WebApp) -> Json:
    """Build what runs it."""
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
    """Build the name that the cluster finds it under."""
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
    """Build the way in from outside."""
    backend = {"service": {"name": app.name, "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": app.name},
        "spec": {"rules": [{"host": host, "http": {"paths": paths}} for host in app.spec.hosts]},
    }

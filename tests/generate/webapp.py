"""The controller of the tutorial, as far as paperwork looks at it."""

from pydantic import Field

from myrmidon.api import Model, Resource, Scale, Status
from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, ControllerOptions, Done, Reads, Result, Watch, state
from myrmidon.sets.outputs.output_set import OutputSet


class WebAppSpec(Model):
    """What the user asks for."""

    image: str = Field(min_length=1, description="The image to run.")
    replicas: int = Field(default=1, ge=0, le=50)
    """How many pods run it."""
    hosts: list[str] = Field(default_factory=list)


class WebAppStatus(Status):
    """What is the case."""

    url: str | None = None
    replicas: int | None = None


class WebApp(
    Resource[WebAppSpec, WebAppStatus],
    group="demo.myrmidon.dev",
    version="v1",
    short_names=["wa"],
    categories=["demo"],
    columns={
        "Image": ".spec.image",
        "Replicas": ".spec.replicas",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
        "Age": ".metadata.creationTimestamp",
    },
    scale=Scale(),
    selectable_fields=[".spec.image"],
):
    """A web application: a Deployment, a Service and, when it has hosts, an Ingress."""


class WebApps(Controller[WebApp]):
    """Runs every WebApp."""

    manages = (kinds.DEPLOYMENT, kinds.SERVICE)
    reads = (Reads(kinds.SECRET, everywhere=True),)
    watches = (Watch(kinds.NODE, to=lambda _: ()),)

    @state(initial=True, condition="Deployed")
    def deployed(self, app: WebApp, out: OutputSet) -> Result:
        """All replicas run."""
        return Done()

    @state(finalizer=True, condition="Deregistered")
    def deregistered(self, app: WebApp, out: OutputSet) -> Result:
        """The registry has forgotten it."""
        return Done()


class Watchers(Controller[WebApp]):
    """Only looks, and only in two namespaces."""

    name = "watchers"
    options = ControllerOptions(namespaces=("one", "two"))

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        return Done()

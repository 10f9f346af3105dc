"""The resource of all examples in this folder, as crd.yaml is that of kopf's examples."""

from pydantic import Field

from myrmidon import Model, Resource, Status


class ExampleSpec(Model):
    """What the user asks for."""

    duration: int = Field(default=60, ge=0)
    """How long the pod sleeps, in seconds."""
    field: str = "value"
    items: list[str] = Field(default_factory=list)


class ExampleStatus(Status):
    """What the controllers report."""

    message: str | None = None
    field: str | None = None
    """The value of spec.field that was handled last."""
    running_pods: list[str] = Field(default_factory=list)


class Example(Resource[ExampleSpec, ExampleStatus], group="kopf.example.com", version="v1"):
    """An object to try things with."""

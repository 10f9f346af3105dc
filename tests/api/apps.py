"""The resource that the tests of typed resources share."""

from datetime import datetime
from typing import Any

from pydantic import Field

from myrmidon.api import Model, Quantity, Resource, Status


class Port(Model):
    """A nested model."""

    port_name: str
    number: int = 80


class AppSpec(Model):
    """Fields of every type."""

    image: str = Field(min_length=1)
    replicas: int = Field(default=1, ge=0, le=50)
    hosts: list[str] = Field(default_factory=list)
    ports: list[Port] = Field(default_factory=list)
    by_name: dict[str, Port] = Field(default_factory=dict)
    memory: Quantity | None = None
    port: int | str | None = None


class AppStatus(Status):
    """Fields of every type, all with defaults."""

    url: str | None = None
    hosts: list[str] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    main_port: Port | None = None
    seen_at: datetime | None = None
    anything: Any = None


class App(Resource[AppSpec, AppStatus], group="demo.myrmidon.dev", version="v1"):
    """An application."""


def manifest(**parts: Any) -> dict[str, Any]:
    """Build an App as the server sends it."""
    return {
        "apiVersion": "demo.myrmidon.dev/v1",
        "kind": "App",
        "metadata": {
            "name": "a",
            "namespace": "n",
            "uid": "u",
            "resourceVersion": "7",
            "generation": 2,
        },
        "spec": {"image": "i"},
        **parts,
    }

"""Two versions of a kind, which each have fields that the other lacks."""

from typing import Annotated, Self

from pydantic import Field

from myrmidon import Model, Resource, Status
from myrmidon.api.typed.markers import ListMap

GROUP = "versions.example.com"


class Port(Model):
    """A port of the hub: it has a name, and may be encrypted."""

    name: str
    port: int = Field(ge=1, le=65535)
    encrypted: bool = False


class AppSpec(Model):
    """What the hub says."""

    image: str = Field(min_length=1)
    replicas: int = Field(default=1, ge=0)
    ports: Annotated[list[Port], ListMap("name")] = Field(default_factory=list)
    owner: str | None = None
    """Unknown to v1beta1."""


class AppStatus(Status):
    """The same in both versions."""

    url: str | None = None


class App(Resource[AppSpec, AppStatus], group=GROUP, version="v1"):
    """The hub."""


class OldAppSpec(Model):
    """What v1beta1 says: ports are numbers only."""

    image: str = Field(min_length=1)
    size: int = Field(default=1, ge=0)
    port_numbers: list[Annotated[int, Field(ge=1, le=65535)]] = Field(default_factory=list)
    note: str | None = None
    """Unknown to v1."""


class AppV1Beta1(Resource[OldAppSpec, AppStatus], version="v1beta1", converts=App):
    """A spoke."""

    def to_hub(self) -> App:
        """Give each port a name."""
        if self.spec.image == "unconvertible":
            raise ValueError("this image cannot be converted")
        ports = [
            Port(name=f"port-{index}", port=number)
            for index, number in enumerate(self.spec.port_numbers)
        ]
        spec = AppSpec(image=self.spec.image, replicas=self.spec.size, ports=ports)
        return App(name=self.name, spec=spec)

    @classmethod
    def from_hub(cls, hub: App) -> Self:
        """Keep the numbers of the ports."""
        if hub.spec.image == "unconvertible":
            raise ValueError("this image cannot be converted")
        numbers = [port.port for port in hub.spec.ports]
        image = "" if hub.spec.image == "refused" else hub.spec.image
        spec = OldAppSpec(image=image, size=hub.spec.replicas, port_numbers=numbers)
        return cls(name=hub.name, spec=spec)


def hub(name: str = "one", *, annotations: dict[str, str] | None = None, **spec: object) -> dict:  # type: ignore[type-arg]
    """Return an object of the hub version as JSON."""
    return _made("v1", name, annotations, {"image": "shop:1", "replicas": 1, "ports": [], **spec})


def spoke(name: str = "one", *, annotations: dict[str, str] | None = None, **spec: object) -> dict:  # type: ignore[type-arg]
    """Return an object of v1beta1 as JSON."""
    return _made(
        "v1beta1", name, annotations, {"image": "shop:1", "size": 1, "portNumbers": [], **spec}
    )


def _made(version: str, name: str, annotations: dict[str, str] | None, spec: object) -> dict:  # type: ignore[type-arg]
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "App", "metadata": metadata, "spec": spec}

"""Keeps a fleet of machines: custom resources that are children of a custom resource.

Fleets       rolled_out ──▶ listed      N Machines of one image, and a list of their names
Machines     booted                     a stand-in for a machine, which takes a while to boot

A Machine is never changed: a new image means a new Machine.  `rolling` replaces them, so that enough
of them stay ready; with the defaults of a Fleet never fewer than wanted.
"""

from datetime import timedelta

from pydantic import Field

from myrmidon import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Rule,
    Scale,
    Status,
    Wait,
    kinds,
    revised,
    rolling,
    state,
)
from myrmidon.api import Json

FLEET = "demo.myrmidon.dev/fleet"  # label of a Machine: the name of its Fleet
READY = ".status.conditions[?(@.type=='Ready')].status"

# ------------------------------------------------------------------------ the resources


class MachineSpec(
    Model, rules=[Rule("self == oldSelf", message="a machine is replaced, never changed")]
):
    """What a machine is."""

    image: str = Field(min_length=1)
    """The image that it boots."""


class MachineStatus(Status):
    """What the machine says."""

    address: str | None = None
    """Where it can be reached; absent until it has booted."""


class Machine(
    Resource[MachineSpec, MachineStatus],
    group="demo.myrmidon.dev",
    version="v1",
    columns={"Image": ".spec.image", "Address": ".status.address", "Ready": READY},
):
    """A machine."""


class FleetSpec(
    Model,
    rules=[
        Rule(
            "self.maxUnavailable + self.maxSurge > 0",
            message="maxUnavailable and maxSurge must not both be 0: no machine could be replaced",
        )
    ],
):
    """What the user asks for."""

    size: int = Field(default=1, ge=0, le=20)
    """How many machines there are."""
    image: str = Field(min_length=1)
    """The image that they boot; another one means that all are replaced."""
    max_unavailable: int = Field(default=0, ge=0)
    """How many fewer machines than wanted may be ready during a replacement."""
    max_surge: int = Field(default=1, ge=0)
    """How many more machines than wanted may exist during a replacement."""
    publish: bool = False
    """Write the addresses of the machines to a ConfigMap with the name of the fleet."""


class FleetStatus(Status):
    """What the controller has observed."""

    machines: int = 0
    """How many machines exist, old ones included."""
    ready: int = 0
    """How many of them are ready."""


class Fleet(
    Resource[FleetSpec, FleetStatus],
    group="demo.myrmidon.dev",
    version="v1",
    columns={"Size": ".spec.size", "Image": ".spec.image", "Up": ".status.ready", "Ready": READY},
    scale=Scale(".spec.size", ".status.machines"),
):
    """A number of machines of the same image."""


# --------------------------------------------------------------------- the controllers


class Machines(Controller[Machine]):
    """Boots machines: a stand-in for a controller that would talk to a cloud."""

    def __init__(self, boot: timedelta = timedelta(seconds=2)) -> None:
        self.boot = boot

    @state(initial=True, condition="Booted")
    def booted(self, machine: Machine, out: OutputSet, ctx: Context) -> Result:
        """The machine has had the time to boot."""
        up_at = (machine.creation_timestamp or ctx.now) + self.boot
        if ctx.now < up_at:
            return Wait("Booting", f"boots {machine.spec.image}", after=up_at - ctx.now)
        machine.status.address = f"{machine.name}.machines.example.com"
        return Done()


class Fleets(Controller[Fleet]):
    """Keeps the machines of every fleet."""

    manages = (Machine, kinds.CONFIG_MAP)
    options = ControllerOptions(prune=True)  # deletes the ConfigMap if `publish` is turned off

    @state(initial=True, condition="RolledOut", then="listed")
    async def rolled_out(self, fleet: Fleet, out: OutputSet, ctx: Context) -> Result:
        """All machines have the image and are ready, and there are no others."""
        existing = await ctx.list(Machine.KIND, labels={FLEET: fleet.name})
        fleet.status.machines = len(existing)
        fleet.status.ready = sum(map(ctx.is_ready, existing))
        # The name of each ends in a hash of its manifest, so that it can exist beside an old one.
        wanted = [revised(machine(fleet, number)) for number in range(fleet.spec.size)]
        rollout = rolling(
            wanted,
            existing,
            max_unavailable=fleet.spec.max_unavailable,
            max_surge=fleet.spec.max_surge,
            is_ready=ctx.is_ready,
        )
        return rollout.into(out)

    @state(condition="Listed")
    async def listed(self, fleet: Fleet, out: OutputSet, ctx: Context) -> Result:
        """The ConfigMap has the addresses of the machines, if it is wanted."""
        if fleet.spec.publish:
            machines = await ctx.list(Machine, labels={FLEET: fleet.name})
            addresses = sorted(each.status.address or "" for each in machines)
            out.apply(config_map(fleet, addresses))
        return Done()


# ------------------------------------------------------------------------ its children


def machine(fleet: Fleet, number: int) -> Json:
    """Build a machine of the fleet."""
    return {
        "apiVersion": Machine.KIND.api_version,
        "kind": "Machine",
        "metadata": {"name": f"{fleet.name}-{number}", "labels": {FLEET: fleet.name}},
        "spec": {"image": fleet.spec.image},
    }


def config_map(fleet: Fleet, addresses: list[str]) -> Json:
    """Build the list of addresses."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": fleet.name},
        "data": {"addresses": "\n".join(addresses)},
    }

"""E11: an external resource is created, and then its id is recorded."""

from typing import Any, ClassVar

from myrmidon.api import Json
from tests.museum.kit import CLEANUP, Exhibit, Reconciler, has_finalizer, thing, uid_of


class CreateThenRecord(Reconciler):
    """A crash or a lost answer between both makes a second resource, and the first one leaks."""

    cloud: ClassVar[Any] = None

    async def reconcile(self, obj: Json) -> None:
        """Keep an external resource; delete it with the object."""
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                known = await self.known(obj)
                if known:
                    await self.cloud.delete(known)
                await self.set_finalizers(obj)
            return
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        known = await self.known(obj)
        if not known:
            known = await self.cloud.create({"size": 1}, self.token(obj))
        await self.set_status(obj, extId=known)

    async def known(self, obj: Json) -> str | None:
        """Return the recorded id."""
        found: str | None = (obj.get("status") or {}).get("extId")
        return found

    def token(self, obj: Json) -> str:
        """Return the token of the create: another one each time."""
        return f"{uid_of(obj)} {self.clock.monotonic()}"


class FindThenCreate(CreateThenRecord):
    """Creates with the uid as token, and looks for that token first."""

    async def known(self, obj: Json) -> str | None:
        """Return the recorded id, or that of the resource with the token."""
        return await super().known(obj) or await self.cloud.find(self.token(obj))

    def token(self, obj: Json) -> str:
        """Return the uid."""
        return uid_of(obj)


def provisioning(make: Any) -> Any:
    """Return the scenario of an external resource."""

    async def provisioned(sim: Any) -> None:
        cloud = sim.external("cloud")

        def made() -> Any:
            program = make()
            program.cloud = cloud
            return program

        sim.controller(made)
        obj = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(obj)
        await sim.settle()

    return provisioned


EXHIBIT = Exhibit(
    "E11 create, then record",
    "crossplane/crossplane-runtime#279",
    CreateThenRecord,
    FindThenCreate,
    provisioning,
    frozenset({"O5"}),
)

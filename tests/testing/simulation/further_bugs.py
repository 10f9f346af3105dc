"""Further buggy controllers of the museum's classes, which are not exhibits: is the mechanism general?

Each is a pair of a buggy and a correct controller that share everything except the mistake.
"""

from base64 import b64encode
from typing import Any, ClassVar, NamedTuple

from myrmidon.api import Json
from myrmidon.errors import AlreadyExistsError, MyrmidonError
from myrmidon.testing.simulation import Scenario
from tests.museum.kit import (
    CLEANUP,
    CONFIG_MAP,
    SECRET,
    Reconciler,
    creation,
    editing,
    has_finalizer,
    thing,
    uid_of,
)


class RotatesByDeleting(Reconciler):
    """Deletes a Secret to replace it, and keeps the old content if it finds none: a crash loses it."""

    children = (SECRET, CONFIG_MAP)

    async def reconcile(self, obj: Json) -> None:
        """Keep a Secret with the configuration, and note in a ConfigMap that it was rotated."""
        wanted = {"cfg": obj["spec"]["cfg"]}
        secret = self.cached(SECRET, "a")
        if secret is None:
            await self.ensure(SECRET, self.child(obj, SECRET, "a", stringData=wanted))
        elif secret["metadata"].get("labels", {}).get("cfg") != wanted["cfg"]:
            await self.rotate(obj, secret, wanted)

    async def rotate(self, obj: Json, secret: Json, wanted: Json) -> None:
        """Replace the Secret, then note it."""
        await self.delete(SECRET, "a", uid=uid_of(secret))
        await self.create_labelled(obj, wanted)
        await self.note(obj, wanted)

    async def create_labelled(self, obj: Json, wanted: Json) -> None:
        """Create the Secret with its label."""
        made = self.child(obj, SECRET, "a", stringData=wanted)
        made["metadata"]["labels"] = {"cfg": wanted["cfg"]}
        await self.create(SECRET, made)

    async def note(self, obj: Json, wanted: Json) -> None:
        """Note the rotation."""
        await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "rotated", data=wanted))


class RotatesFromState(RotatesByDeleting):
    """Creates the Secret as it has to be, and notes each rotation that it finds."""

    async def reconcile(self, obj: Json) -> None:
        """Keep the Secret and the note, each by itself."""
        wanted = {"cfg": obj["spec"]["cfg"]}
        secret = self.cached(SECRET, "a")
        encoded = {"cfg": b64encode(wanted["cfg"].encode()).decode()}
        if secret is not None and secret.get("data") != encoded:
            await self.delete(SECRET, "a", uid=uid_of(secret))
            secret = None
        if secret is None:
            try:
                await self.create_labelled(obj, wanted)
            except AlreadyExistsError as error:
                raise MyrmidonError("the Secret is there") from error
        note = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "rotated", data=wanted))
        if note.get("data") != wanted:
            await self.client.update(CONFIG_MAP, {**note, "data": wanted})


class GivesUpOnConflict(Reconciler):
    """Takes AlreadyExists for an object of others, also after its own create got no answer."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap, then report."""
        if (obj.get("status") or {}).get("phase") == "Failed":
            return
        try:
            there = self.cached(CONFIG_MAP, "a")
            if there is None:
                await self.create(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data={"k": "v"}))
            elif there.get("data") != {"k": "v"}:
                await self.client.update(CONFIG_MAP, {**there, "data": {"k": "v"}})
        except AlreadyExistsError:
            await self.taken(obj)
            return
        await self.set_status(obj, phase="Ready")

    async def taken(self, obj: Json) -> None:
        """Report a failure for ever."""
        await self.set_status(obj, phase="Failed")


class LooksWhoseItIs(GivesUpOnConflict):
    """Reads the object before it gives up."""

    async def taken(self, obj: Json) -> None:
        """Go on if the object is its own."""
        there = await self.live(CONFIG_MAP, "a")
        owners = [] if there is None else there["metadata"].get("ownerReferences", [])
        if any(one["uid"] == uid_of(obj) for one in owners):
            await self.set_status(obj, phase="Ready")
        else:
            raise MyrmidonError("the name is taken")


class CountsItsPasses(Reconciler):
    """Writes the number of its passes to its child, whose events cause passes."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap."""
        there = await self.ensure(
            CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data={"passes": "0"})
        )
        await self.count(there)

    async def count(self, there: Json) -> None:
        """Count the pass once a second has passed since the last one."""
        passes = int(there["data"]["passes"]) + 1
        second = str(int(self.clock.monotonic()))
        if there["data"].get("second") != second:
            data = {"passes": str(passes), "second": second}
            await self.client.update(CONFIG_MAP, {**there, "data": data})

    async def resync(self) -> None:
        """Do nothing: events of a resync are filtered out."""


class CountsNothing(CountsItsPasses):
    """Keeps the child as it was made."""

    async def count(self, there: Json) -> None:
        """Repair the child."""
        if there["data"] != {"passes": "0"}:
            await self.client.update(CONFIG_MAP, {**there, "data": {"passes": "0"}})


class SwallowsDeleteErrors(Reconciler):
    """Removes its finalizer although the external delete got no answer."""

    cloud: ClassVar[Any] = None

    async def reconcile(self, obj: Json) -> None:
        """Keep an external resource; delete it with the object."""
        known = (obj.get("status") or {}).get("extId")
        if obj["metadata"].get("deletionTimestamp"):
            if has_finalizer(obj):
                known = known or await self.cloud.find(uid_of(obj))
                if known:
                    await self.remove(known)
                await self.set_finalizers(obj)
            return
        if not has_finalizer(obj):
            await self.set_finalizers(obj, CLEANUP)
            return
        if not known:
            known = await self.cloud.find(uid_of(obj)) or await self.cloud.create({}, uid_of(obj))
        await self.set_status(obj, extId=known)

    async def remove(self, known: str) -> None:
        """Delete the resource; an error is ignored."""
        try:
            await self.cloud.delete(known)
        except (MyrmidonError, OSError):
            return


class WaitsForDelete(SwallowsDeleteErrors):
    """Tries again until the resource is gone."""

    async def remove(self, known: str) -> None:
        """Delete the resource."""
        await self.cloud.delete(known)


class ObservesWhenReadyFlips(Reconciler):
    """Writes observedGeneration together with Ready, so it never catches up with an edit."""

    children = (CONFIG_MAP,)

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap, and report Ready."""
        wanted = {"cfg": obj["spec"]["cfg"]}
        there = await self.ensure(CONFIG_MAP, self.child(obj, CONFIG_MAP, "a", data=wanted))
        if there.get("data") != wanted:
            await self.client.update(CONFIG_MAP, {**there, "data": wanted})
        if self.reports(obj):
            await self.set_status(
                obj, phase="Ready", observedGeneration=obj["metadata"]["generation"]
            )

    def reports(self, obj: Json) -> bool:
        """Whether Ready is new."""
        return (obj.get("status") or {}).get("phase") != "Ready"


class ObservesEachGeneration(ObservesWhenReadyFlips):
    """Reports each generation."""

    def reports(self, obj: Json) -> bool:
        """Return True; a status that is the same is not written."""
        return True


class OldOwner(Reconciler):
    """Writes the uid that it remembered for a name, also after the object was created again."""

    children = (CONFIG_MAP,)

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Json] = {}

    async def reconcile(self, obj: Json) -> None:
        """Keep a ConfigMap."""
        wanted = {"k": "v"}
        made = self.child(self.owner(obj), CONFIG_MAP, "a", data=wanted)
        there = await self.ensure(CONFIG_MAP, made)
        if there.get("data") != wanted:
            await self.client.update(CONFIG_MAP, {**there, "data": wanted})

    def owner(self, obj: Json) -> Json:
        """Return the object as it was first seen."""
        return self.known.setdefault(obj["metadata"]["name"], obj)


class CurrentOwner(OldOwner):
    """Uses the object as it is."""

    def owner(self, obj: Json) -> Json:
        """Return the object."""
        return obj


def removal(make: Any) -> Any:
    """Return the scenario with an external resource that is removed with its object."""

    async def removed(sim: Any) -> None:
        cloud = sim.external("cloud")
        sim.controller(type(make.__name__, (make,), {"cloud": cloud}))
        made = await sim.user.create(thing())
        await sim.settle()
        await sim.user.delete(made)
        await sim.settle()

    return removed


class FurtherBug(NamedTuple):
    """A buggy and a correct controller, their scenario, and the oracles that name the bug."""

    buggy: Any
    fixed: Any
    play: Any
    oracles: frozenset[str]

    def scenario(self, make: Any) -> Scenario:
        """Return the scenario of one of them."""
        return Scenario(self.play(make))


FURTHER_BUGS = (
    FurtherBug(
        RotatesByDeleting, RotatesFromState, editing({"cfg": "x"}, {"cfg": "y"}),
        frozenset({"O1", "O3", "O4"}),
    ),
    FurtherBug(GivesUpOnConflict, LooksWhoseItIs, creation, frozenset({"O1"})),
    FurtherBug(CountsItsPasses, CountsNothing, creation, frozenset({"O1", "O2", "O7"})),
    FurtherBug(SwallowsDeleteErrors, WaitsForDelete, removal, frozenset({"O5"})),
    FurtherBug(
        ObservesWhenReadyFlips, ObservesEachGeneration, editing({"cfg": "x"}, {"cfg": "y"}),
        frozenset({"O9"}),
    ),
    FurtherBug(OldOwner, CurrentOwner, creation, frozenset({"O1", "O5", "O7"})),
)  # fmt: skip

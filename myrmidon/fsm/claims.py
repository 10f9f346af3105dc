"""ClaimController: bind each claim, an object in a namespace, to one cluster-scoped object.

It works like PersistentVolumeClaim and PersistentVolume with dynamic provisioning.  A user creates
a claim, which needs no knowledge of where the claimed object lives or what it is called.  The
controller creates the claimed object from the claim's spec, with a ``spec.claimRef`` back to the
claim, and reports its readiness on the claim.  When the claim is deleted, a finalizer keeps it
until the claimed object is gone: a cluster-scoped object cannot have an owner in a namespace, so
the garbage collector would not delete it.
"""

from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.resource import Resource
from myrmidon.errors import DefinitionError
from myrmidon.fsm.children.naming import hashed_name
from myrmidon.fsm.context import Context
from myrmidon.fsm.controller import Controller, entries_of
from myrmidon.fsm.machine.results import Done, Result, Wait
from myrmidon.fsm.machine.states import state
from myrmidon.sets.outputs.output_set import OutputSet

Claim = TypeVar("Claim", bound=Resource[Any, Any])
Claimed = TypeVar("Claimed", bound=Resource[Any, Any])


class ClaimController(Controller[Claim], Generic[Claim, Claimed], abstract=True):
    """A controller that binds each claim to one claimed object.

    Subclass it as ``ClaimController[YourClaim, YourClaimed]``, with the two Resource classes.
    The claimed object's name is derived from the claim's name and uid, so two passes can never
    create two of them, and a claim that is deleted and created again gets a new one.
    """

    claimed: ClassVar[type[Resource[Any, Any]]]
    """The Resource class of the claimed objects, from ``ClaimController[...]``."""

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        claimed = _claimed_of(cls)
        if claimed is not None:
            cls.claimed = claimed
            cls.manages = (claimed, *entries_of(cls.manages))
        elif not abstract and not hasattr(cls, "claimed"):
            raise DefinitionError(
                f"{cls.__name__} does not say what is claimed.\n"
                f"  fix: write `class {cls.__name__}(ClaimController[YourClaim, YourClaimed])`"
            )
        super().__init_subclass__(abstract=abstract, **kwargs)

    def claimed_spec(self, claim: Claim) -> Json:
        """Return the spec of the claimed object; by default that of the claim."""
        spec: Json = claim.spec.to_wire()
        return spec

    @state(initial=True, condition="Bound", then="claimed_ready")
    def bound(self, claim: Claim, out: OutputSet) -> Result:
        """The claimed object exists."""
        reference = {
            "apiVersion": claim.KIND.api_version,
            "kind": claim.KIND.kind,
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        manifest = {
            "apiVersion": self.claimed.KIND.api_version,
            "kind": self.claimed.KIND.kind,
            "metadata": {"name": claimed_name(claim)},
            "spec": {**self.claimed_spec(claim), "claimRef": reference},
        }
        out.apply(manifest, owner_refs=False)
        return Done()

    @state(condition="ClaimedReady")
    async def claimed_ready(self, claim: Claim, _out: OutputSet, ctx: Context) -> Result:
        """The claimed object is ready."""
        claimed = await ctx.get(self.claimed.KIND, claimed_name(claim))
        if not ctx.is_ready(claimed):
            return Wait("ClaimedNotReady", f"waiting for {self.claimed.KIND} {claimed_name(claim)}")
        return Done()

    @state(finalizer=True, condition="Released")
    async def released(self, claim: Claim, out: OutputSet, ctx: Context) -> Result:
        """The claimed object is gone."""
        if await ctx.live.get(self.claimed.KIND, claimed_name(claim)) is None:
            return Done()
        out.delete(self.claimed.KIND, claimed_name(claim), claim.namespace)
        return Wait(
            "Releasing",
            f"waiting for {self.claimed.KIND} {claimed_name(claim)} to be gone",
            keep_outputs=True,
        )


def claimed_name(claim: Resource[Any, Any]) -> str:
    """Return the name of the object that is bound to the claim."""
    return hashed_name(claim, claim.uid)


def _claimed_of(cls: type) -> type[Resource[Any, Any]] | None:
    """Return the second type argument of this class's own ``ClaimController[...]`` base, if any."""
    for base in getattr(cls, "__orig_bases__", ()):
        origin, arguments = get_origin(base), get_args(base)
        if isinstance(origin, type) and issubclass(origin, Controller) and len(arguments) == 2:
            claimed = arguments[1]
            if isinstance(claimed, type) and issubclass(claimed, Resource):
                return claimed
    return None

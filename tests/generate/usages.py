"""Controllers that write in different ways; nothing here is run."""

from functools import partial
from typing import Any

from myrmidon.api import ExternalStatus, Resource
from myrmidon.api.objects import kinds
from myrmidon.fsm import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    External,
    Result,
    delete_children_foreground,
    rolling,
    state,
)
from myrmidon.sets.outputs.output_set import OutputSet
from tests.generate.usage_helpers import put_away
from tests.generate.webapp import WebApp, WebAppSpec

http: Any = None
BOTH = (kinds.CONFIG_MAP, kinds.SECRET)


class Plain(Controller[WebApp]):
    """Creates and patches; what it deletes is of one kind."""

    manages = BOTH
    reads = (kinds.NODE,)

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        out.apply({}, as_update=False)
        out.delete(kinds.SECRET, "a")
        return Done()


class Editing(Controller[WebApp]):
    """Patches, scales and labels; it creates nothing."""

    manages = (kinds.CONFIG_MAP, kinds.DEPLOYMENT)

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        out.patch(kinds.DEPLOYMENT, "a", {}, subresource="status")
        out.scale(kinds.DEPLOYMENT, "a", replicas=1)
        out.delete_all(kinds.CONFIG_MAP, selector="a=b")
        out.label_self({"a": "b"})
        out.delete_self()
        return Done()


class Emptying(Controller[WebApp]):
    """Deletes its children by a ready-made state."""

    manages = BOTH
    emptied = delete_children_foreground(finalizer=True)

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        out.apply({})
        out.scale(app, replicas=1)
        return Done()


class Rolling(Controller[WebApp]):
    """Replaces its children by a ready-made helper."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        return rolling([], []).into(out)


class Replacing(Controller[WebApp]):
    """Replaces whole objects, and reads them from the server."""

    manages = BOTH
    reads = (kinds.NODE,)

    @state(initial=True, condition="Seen")
    async def seen(self, app: WebApp, out: OutputSet, ctx: Context) -> Result:
        """It was seen."""
        await ctx.live.get(kinds.NODE, "a")
        out.apply({}, as_update=True)
        return Done()


class Spread(Controller[WebApp]):
    """Names its options in a mapping."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        options: dict[str, Any] = {"recreate": True}
        out.apply({}, **options)
        return Done()


class Creating(Controller[WebApp]):
    """Never changes existing objects."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        out.apply_all((), create_only=True)
        return Done()


class Tracking(Controller[WebApp]):
    """Has children elsewhere."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        out.apply({}, owner_refs=False)
        return Done()


class Pruning(Plain):
    """Deletes what it no longer wants."""

    options = ControllerOptions(prune=True)


class Unnamed(Controller[WebApp]):
    """Deletes a kind that is only known at run time."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        for kind in BOTH:
            out.delete(kind, "a")
        tuple(map(partial(out.apply, as_update=True), ()))
        return Done()


class StoredStatus(ExternalStatus):
    """With a ledger."""


class Stored(Resource[WebAppSpec, StoredStatus], group="demo.example.com", version="v1"):
    """A resource with an External."""


class Store(External[Stored, str]):
    """Its delete is a call of another system."""

    async def observe(self, obj: Stored, id: str) -> str | None:  # noqa: A002
        """Read it."""

    async def create(self, obj: Stored, token: str) -> str:
        """Make it."""
        return token

    async def delete(self, obj: Stored, id: str, observed: str) -> None:  # noqa: A002
        """Delete it, with a client whose argument is only known at run time."""
        await http.delete(observed)


class Dynamic(Controller[WebApp]):
    """Chooses its verbs at run time."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        getattr(out, app.name)({})
        return Done()


class Silent(Controller[WebApp]):
    """Its outputs cannot be found by analysis."""

    manages = BOTH

    @state(initial=True, condition="Seen")
    def seen(self, app: WebApp, out: OutputSet) -> Result:
        """It was seen."""
        return Done()


away = put_away

"""kopf's 99-all-at-once: a pod, Events, a wait for it, a field that is followed, and a finalizer.

created ──▶ waited_for        released (when it is deleted)
"""

from myrmidon import Context, Controller, Done, OutputSet, Result, Wait, changed, kinds, state
from myrmidon import Manages as ManagedKind

from .ex02_children import pod
from .resource import Example


class Examples(Controller[Example]):
    """Runs a pod for every Example and follows it."""

    manages = (ManagedKind(kinds.POD, when=changed("status.phase")),)

    def __init__(self) -> None:
        self.released: list[str] = []

    @state(initial=True, condition="Created", then="waited_for")
    def created(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The pod exists, and the current value of the field is handled."""
        if example.status.field != example.spec.field:
            ctx.event("Normal", "FieldChanged", f"{example.status.field} -> {example.spec.field}")
            example.status.field = example.spec.field
        out.apply(pod(example), recreate=True)
        return Done()

    @state(condition="Running")
    async def waited_for(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The pod runs."""
        if not ctx.is_ready(await ctx.get(kinds.POD, example.name)):
            return Wait("Starting", "the pod does not run yet")
        return Done()

    @state(finalizer=True, condition="Released")
    def released_object(self, example: Example, out: OutputSet) -> Result:
        """What the object stood for is released."""
        self.released.append(example.name)
        return Done()

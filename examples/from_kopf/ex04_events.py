"""kopf's 04-events: Kubernetes Events about the object."""

from myrmidon import Context, Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Records three Events about every Example."""

    @state(initial=True)
    def told(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The Events are recorded."""
        ctx.event("Normal", "SomeReason", "some message")
        ctx.event("Warning", "OtherReason", "some warning")
        try:
            int(example.spec.field)
        except ValueError as error:
            ctx.event("Warning", "NotANumber", str(error))
        return Done()

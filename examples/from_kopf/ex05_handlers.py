"""kopf's 05-handlers: creation, update, resumption, deletion, and a change of one field.

Creation, update and resumption are one state, because it declares what should be true.  What a field
was before is in the status: nothing else is remembered.
"""

from myrmidon import Context, Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Follows spec.field, and lets go of an object that is deleted."""

    def __init__(self) -> None:
        self.released: list[str] = []

    @state(initial=True, condition="Handled")
    def handled(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The current value of the field is handled."""
        old, new = example.status.field, example.spec.field
        if old != new:
            ctx.log.info("field changed", old=old, new=new)
            example.status.message = f"{old} -> {new}"
            example.status.field = new
        return Done()

    @state(finalizer=True, condition="Released")
    def gone(self, example: Example, out: OutputSet) -> Result:
        """What the object stood for is released."""
        self.released.append(example.name)
        return Done()

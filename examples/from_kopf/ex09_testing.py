"""kopf's 09-testing: a controller, and how it is tested; see the test."""

from myrmidon import Context, Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Says that it has seen an object."""

    @state(initial=True)
    def logged(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The log has a line about the object."""
        ctx.log.info("the example was handled")
        return Done()

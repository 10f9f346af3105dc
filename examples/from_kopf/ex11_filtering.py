"""kopf's 11-filtering-handlers: only some objects, by labels and annotations.

The server selects by labels, so that other objects are not even sent.  For what it cannot select,
annotations among them, a state asks.
"""

from myrmidon import Controller, ControllerOptions, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Handles Examples with a label, those with an annotation in another way."""

    options = ControllerOptions(selector="somelabel in (somevalue, othervalue)")

    @state(initial=True, then=("special", "usual"))
    def looked_at(self, example: Example, out: OutputSet) -> Result:
        """The annotation is read."""
        return Done(goto="special" if "someannotation" in example.annotations else "usual")

    @state(condition="Special")
    def special(self, example: Example, out: OutputSet) -> Result:
        """The object is handled as the annotation says."""
        example.status.message = f"someannotation={example.annotations['someannotation']}"
        return Done()

    @state(condition="Usual")
    def usual(self, example: Example, out: OutputSet) -> Result:
        """The object is handled as any other."""
        return Done()

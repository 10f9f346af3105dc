"""kopf's 01-minimal: a handler whose result is kept in the status."""

from myrmidon import Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Greets every Example."""

    @state(initial=True)
    def greeted(self, example: Example, out: OutputSet) -> Result:
        """The status holds the greeting."""
        example.status.message = "hello world"
        return Done()

"""kopf's 08-events: a handler of raw watch events.

There are no such handlers: events that come close together are merged into one pass, and after a
restart an event is not repeated.  A pass can tell which changes triggered it, for logs and counters.
"""

from myrmidon import Context, Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Keeps what triggered its passes."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @state(initial=True)
    def noted(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The causes of the pass are noted."""
        self.seen += map(str, ctx.cause)
        return Done()

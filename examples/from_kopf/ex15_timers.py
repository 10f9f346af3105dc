"""kopf's 15-timers: a look at each object every two seconds.  The object is Ready in between."""

from collections import Counter
from datetime import timedelta

from myrmidon import Controller, Done, OutputSet, Result, state

from .resource import Example


class Examples(Controller[Example]):
    """Pings every Example."""

    def __init__(self) -> None:
        self.pings: Counter[str] = Counter()

    @state(initial=True)
    def pinged(self, example: Example, out: OutputSet) -> Result:
        """The object was looked at less than two seconds ago."""
        self.pings[example.name] += 1
        return Done(again=timedelta(seconds=2))

"""kopf's 03-exceptions: a failure that is retried soon, one with backoff, and a final one."""

from collections import Counter
from datetime import timedelta

from myrmidon import Controller, Done, Failed, OutputSet, Result, Wait, state

from .resource import Example


class Examples(Controller[Example]):
    """Fails in three ways.  What it counts is lost with the process; a real one would look outside."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()

    @state(initial=True, condition="Tried")
    def tried(self, example: Example, out: OutputSet) -> Result:
        """It has worked."""
        self.tries[example.uid] += 1
        match self.tries[example.uid]:
            case 1:
                return Wait("NotYet", "first failure", after=timedelta(seconds=1))
            case 2:
                raise OSError("second failure")
            case 3:
                return Failed("GaveUp", "third failure, the final one", retry=False)
            case _:
                return Done()

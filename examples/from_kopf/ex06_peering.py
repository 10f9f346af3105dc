"""kopf's 06-peering: several processes, one of which works.

The controller does not know of it.  ``myrmidon run --leader-election`` elects one by a Lease; there
are no priorities, and no objects to create before.
"""

from myrmidon import Controller, Done, ManagerOptions, OutputSet, Result, state

from .resource import Example

OPTIONS = ManagerOptions(leader_election=True, leader_election_id="examples", seed=0)


class Examples(Controller[Example]):
    """Does nothing, in one process at a time."""

    @state(initial=True)
    def seen(self, example: Example, out: OutputSet) -> Result:
        """The leader has seen the object."""
        return Done()

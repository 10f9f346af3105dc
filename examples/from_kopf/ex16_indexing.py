"""kopf's 16-indexing: which pods run, from an index of the cache.

No timer is needed: the list that a pass has read triggers the next pass when it changes.
"""

from typing import ClassVar

from myrmidon import Context, Controller, Done, OutputSet, Result, kinds, state
from myrmidon.api import Json

from .resource import Example


def phase_of(pod: Json) -> list[str]:
    """Return the value under which the index finds a pod."""
    return [pod.get("status", {}).get("phase", "Unknown")]


class Examples(Controller[Example]):
    """Lists the running pods of the cluster in the status of every Example."""

    reads = (kinds.POD,)
    indexes: ClassVar = {kinds.POD: {"phase": phase_of}}

    @state(initial=True)
    async def listed(self, example: Example, out: OutputSet, ctx: Context) -> Result:
        """The status lists the pods."""
        running = await ctx.list(kinds.POD, namespace="", index=("phase", "Running"))
        example.status.running_pods = sorted(
            f"{pod['metadata']['namespace']}::{pod['metadata']['name']}" for pod in running
        )
        return Done()

"""kopf's 10-builtins: pods are deleted 30 seconds after their creation.

No task waits for it: the pass itself is due again when the time is over, also after a restart.
"""

from datetime import timedelta

from myrmidon import Context, Controller, Done, OutputSet, Result, Unstructured, kinds, state

LIFETIME = timedelta(seconds=30)


class ShortLivedPods(Controller[Unstructured], kind=kinds.POD):
    """Deletes every pod outside the namespaces of the system."""

    manages = (kinds.POD,)

    @state(initial=True)
    def mortal(self, pod: Unstructured, out: OutputSet, ctx: Context) -> Result:
        """The pod is younger than its lifetime, or deleted."""
        if pod.namespace.startswith("kube-") or pod.creation_timestamp is None:
            return Done()
        ends_at = pod.creation_timestamp + LIFETIME
        if ctx.now < ends_at:
            return Done(again=ends_at)
        out.delete(kinds.POD, pod.name, adopt=True)
        return Done()

"""kopf's 02-children: an object with a pod.  What is recorded of it, status.resourceRefs, is ours."""

from myrmidon import Controller, Done, OutputSet, Result, kinds, state
from myrmidon.api import Json

from .resource import Example


def pod(example: Example) -> Json:
    """Build the pod."""
    script = f'echo "FIELD=$FIELD"; sleep {example.spec.duration}'
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["sh", "-x", "-c", script],
        "env": [{"name": "FIELD", "value": example.spec.field}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": example.name},
        "spec": {"containers": [container]},
    }


class Examples(Controller[Example]):
    """Runs a pod for every Example."""

    manages = (kinds.POD,)

    @state(initial=True, condition="Started")
    def started(self, example: Example, out: OutputSet) -> Result:
        """The pod exists."""
        # A pod cannot be changed: a new spec replaces it.
        out.apply(pod(example), recreate=True)
        return Done()

"""kopf's 07-subhandlers: one thing to do for each item of a list.

Each item becomes a ConfigMap.  An item that fails does not keep the others from being written, and
the ConfigMap of an item that leaves the list is deleted.
"""

from myrmidon import Controller, ControllerOptions, Done, OutputSet, Result, kinds, state

from .resource import Example


class Examples(Controller[Example]):
    """Keeps one ConfigMap for each item."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(prune=True)

    @state(initial=True, condition="Handled")
    def handled(self, example: Example, out: OutputSet) -> Result:
        """Every item has its ConfigMap."""
        for item in example.spec.items:
            name = f"{example.name}-{item}"
            out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        return Done()

"""Controllers of a built-in kind that keep their conditions in different places."""

from myrmidon import (
    Controller,
    ControllerOptions,
    Done,
    OutputSet,
    Result,
    Unstructured,
    kinds,
    state,
)


class SpacesInStatus(Controller[Unstructured], kind=kinds.NAMESPACE):
    """Keeps its conditions in the status of the namespaces."""

    options = ControllerOptions(conditions="status")

    @state(initial=True)
    def held(self, _space: Unstructured, _out: OutputSet) -> Result:
        """Nothing to do."""
        return Done()


class SpacesInAnnotation(SpacesInStatus):
    """Keeps its conditions in an annotation."""

    options = ControllerOptions(conditions="annotation")


class SpacesWithout(SpacesInStatus):
    """Keeps no conditions."""

    options = ControllerOptions(conditions="off")

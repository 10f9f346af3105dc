"""A controller whose texts look like Helm templates."""

from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Status, state


class BracesSpec(Model):
    """Says {{ .Values.image }} and {{- end }}, {{{{ and }}."""

    text: str
    """Written as {{ name }}\u2028in a template of the user's."""


class Braces(
    Resource[BracesSpec, Status], group="demo.myrmidon.dev", version="v1", plural="braces"
):
    """A resource whose documentation looks like a template."""


class BracesController(Controller[Braces]):
    """Does nothing with {{ braces }}."""

    @state(initial=True, condition="Seen")
    def seen(self, obj: Braces, out: OutputSet) -> Result:
        """The object was seen."""
        return Done()

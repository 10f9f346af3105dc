"""The controller under test: three states, one ConfigMap each."""

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Controller, Done, Result, state
from myrmidon.sets import OutputSet


class WidgetSpec(Model):
    """What a Widget asks for."""

    value: str
    children: int = 3


class Widget(Resource[WidgetSpec, Status], group="bench.dev", version="v1"):
    """Three ConfigMaps with a value."""


class Widgets(Controller[Widget]):
    """Writes the value of every Widget into three ConfigMaps."""

    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, condition="First", then="second")
    def first(self, widget: Widget, out: OutputSet) -> Result:
        """The first ConfigMap holds the value."""
        out.apply(config_map(widget, "a"))
        return Done()

    @state(condition="Second", then="third")
    def second(self, widget: Widget, out: OutputSet) -> Result:
        """The second ConfigMap holds the value."""
        out.apply(config_map(widget, "b"))
        return Done()

    @state(condition="Third")
    def third(self, widget: Widget, out: OutputSet) -> Result:
        """The third ConfigMap holds the value."""
        out.apply(config_map(widget, "c"))
        return Done()


def config_map(widget: Widget, letter: str) -> Json:
    """Build one of the three ConfigMaps."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{widget.name}-{letter}"},
        "data": {"value": widget.spec.value},
    }

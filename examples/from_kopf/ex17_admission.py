"""kopf's 17-admission: objects that are refused, and a field that is filled in.

There are no webhooks of one's own.  The schema says what is valid, in types and in CEL, and the
server fills in defaults; so no certificate, no server and no outage of it can get in the way.
"""

from pydantic import Field

from myrmidon import Controller, Done, Model, OutputSet, Resource, Result, Rule, Status, state


class GuardedSpec(Model, rules=[Rule("self.field != 'wrong'", message="change the field")]):
    """What the user asks for."""

    field: str = Field(default="value", pattern=r"^[a-z]+$")
    injected: int = 123


class Guarded(Resource[GuardedSpec, Status], group="kopf.example.com", version="v1"):
    """An object that the server checks."""


class Guardeds(Controller[Guarded]):
    """Accepts what the server has let in."""

    @state(initial=True)
    def accepted(self, guarded: Guarded, out: OutputSet) -> Result:
        """The object is valid."""
        return Done()

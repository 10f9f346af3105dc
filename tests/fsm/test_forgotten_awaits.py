"""Coroutines of the context that a state forgets to await; tests/mistakes shows the messages."""

from myrmidon import Controller
from myrmidon.fsm.misuse.instances import check_is_controller
from tests.fsm.things import Thing

TYPED_AT_A_PROMPT = """
from myrmidon import Context, Controller, Done, OutputSet, Result, state

class Prompted(Controller[Thing]):
    @state(initial=True, condition="Made")
    def made(self, it: Thing, out: OutputSet, ctx: Context) -> Result:
        return Done()
"""


def test_a_class_without_source_is_not_checked() -> None:
    """A class that was typed at a prompt has no file to read; it can be used all the same."""
    names: dict[str, object] = {"__name__": "prompt", "Thing": Thing}
    exec(TYPED_AT_A_PROMPT, names)  # as a prompt does
    made = names["Prompted"]
    assert isinstance(made, type)
    assert issubclass(made, Controller)

    check_is_controller(made(), "Harness")

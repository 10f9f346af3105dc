"""What ``docs/how-to/run-in-a-cluster.md`` says about the size of an image, for the tests of it."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs/how-to/run-in-a-cluster.md"


class Documented(NamedTuple):
    """The sizes in MB that the page names, and the instruction that makes an image smaller."""

    added: int
    """What the virtual environment adds to the base image."""
    saved: int
    """What the instruction removes from it."""
    instruction: str

    @property
    def modules(self) -> list[str]:
        """The modules that the instruction removes, by their names in Python."""
        names = self.instruction.partition("rm -r ")[2].split()
        return [name.replace("/", ".") for name in names]


def documented() -> Documented:
    """Return what the page says."""
    text = PAGE.read_text()
    (added,) = re.findall(r"virtual environment adds (\d+) MB", text)
    (saved,) = re.findall(r"To save (\d+) MB", text)
    (instruction,) = re.findall(r"```dockerfile\nRUN (.*)\n```", text)
    return Documented(int(added), int(saved), instruction)

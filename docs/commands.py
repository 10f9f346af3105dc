"""Write the reference of the commands from their parsers: ``python docs/commands.py``."""

import argparse
from pathlib import Path

from myrmidon.cli.main import COMMANDS, EXIT_CODES, command_module

PAGE = Path(__file__).parent / "reference" / "cli.md"
_HEAD = """# Commands

`myrmidon …` is `python -m myrmidon …`. A wrong argument, an unreachable server or a forbidden verb is one sentence that says what and how to fix it, on standard error. On a terminal, a command that is silent for more than two seconds says there what it does and since when.

This page is made from the parsers by `python docs/commands.py`, and a test holds it against them.

## Exit status

The same for all commands:

| status | meaning |
|---|---|
"""


def page() -> str:
    """The page as it should be."""
    codes = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    return _HEAD + codes + "".join(_section(name, summary) for name, summary in COMMANDS.items())


def _section(name: str, summary: str) -> str:
    module = command_module(name)
    parser = argparse.ArgumentParser(
        prog=f"myrmidon {name}",
        description=module.__doc__,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=110),
    )
    module.add_arguments(parser)
    return (
        f"\n## myrmidon {name}\n\n{summary.capitalize()}.\n\n```text\n{parser.format_help()}```\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())

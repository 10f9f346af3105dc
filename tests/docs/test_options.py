"""The options, flags and log lines that the documentation names are those of the program."""

import argparse
import dataclasses
import importlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from myrmidon import ControllerOptions, ManagerOptions, WebhookOptions
from myrmidon.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
OPERATE = (ROOT / "docs/how-to/operate.md").read_text()
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
_ROW = re.compile(r"^\| `(\w+)` \| (?:`(--[\w-]+)`)? ?\| (.+) \|$", re.MULTILINE)


def parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    made = argparse.ArgumentParser()
    importlib.import_module(f"myrmidon.cli.commands.{command}").add_arguments(made)
    return made


def flags(command: str) -> set[str]:
    """Return every flag of a command."""
    return {flag for action in parser(command)._actions for flag in action.option_strings}


def told(value: Any) -> str:
    """Return a default as the page writes it; "" for one that is described in words."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return "" if dataclasses.is_dataclass(value) else f"`{value!r}`"


@pytest.mark.parametrize(
    ("options", "heading"),
    [
        (ManagerOptions, "process"),
        (WebhookOptions, "webhooks"),
        (ControllerOptions, "a controller"),
    ],
    ids=["manager", "webhooks", "controller"],
)
def test_options_and_their_defaults(options: Any, heading: str) -> None:
    """All of them, in the order of the class, with the flag that sets them."""
    text = re.split(r"## Options of (?:the )?", OPERATE)
    (section,) = (part for part in text if part.startswith(heading))
    rows = {name: (flag, default) for name, flag, default in _ROW.findall(section)}

    assert list(rows) == [field.name for field in dataclasses.fields(options)]
    for name, value in dataclasses.asdict(options()).items():
        flag, default = rows[name]
        assert default.startswith(told(getattr(options(), name))), (name, value)
        assert not flag or flag in flags("run"), name


def test_every_flag_of_run_that_is_an_option_is_in_a_table() -> None:
    """The event loop, the log, the settings, remote clusters and the live page are not options."""
    listed = {flag for _, flag, _ in _ROW.findall(OPERATE)}

    apart = {"-h", "--help", "--event-loop", "--log-format", "--log-level", "--config", "--remote"}
    apart.add("--processes")  # docs/how-to/run-several-replicas.md
    page = {"--ui", "--ui-token", "--ui-write", "--no-ui-write"}  # docs/how-to/watch-it-live.md
    unlisted = flags("run") - listed - apart - page
    assert {flag for flag in unlisted if flag.replace("--no-", "--") not in listed} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_typed_as_the_program_takes_them(page: Path) -> None:
    """Every ``myrmidon command --flag`` of a page, in a block or in a line."""
    for command, rest in re.findall(r"\bmyrmidon (\w+)([^`\n|#;)]*)", page.read_text()):
        if command in COMMANDS:
            known = flags(command)
            assert [
                flag for flag in re.findall(r" (--?[a-z][\w-]*)", rest) if flag not in known
            ] == []


def test_the_log_lines_of_the_page_exist() -> None:
    """Word for word, somewhere in the program."""
    table = OPERATE.partition("## Logs")[2].partition("## An object")[0]
    messages = [
        message
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for message in re.findall(r"`([^`]+)`", row)
    ]
    source = "".join(path.read_text() for path in ROOT.glob("myrmidon/**/*.py"))

    assert messages
    assert [message for message in messages if f'"{message}"' not in source] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_that_a_page_names_exist(page: Path) -> None:
    """Every keyword in ``ControllerOptions(...)`` and ``ManagerOptions(...)``."""
    for options in (ControllerOptions, ManagerOptions, WebhookOptions):
        known = {field.name for field in dataclasses.fields(options)}
        uses = re.findall(
            rf"{options.__name__}\(([^()]*)", re.sub(r'"[^"]*"', "", page.read_text())
        )
        named = {name for use in uses for name in re.findall(r"\b([a-z_]+)=", use)}
        assert named <= known, options.__name__

"""Completion scripts for bash, zsh and fish, made from the parsers of the commands.

The scripts are static: pressing the tab key starts no Python, which would take longer than a person
waits.  Where an option has choices these are offered, otherwise files, which targets and most values
are.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from myrmidon.cli.main import COMMANDS, command_module


class Option(NamedTuple):
    """An option of a command."""

    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


class Command(NamedTuple):
    """A command with its options, and the choices of its arguments."""

    name: str
    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]


def commands() -> list[Command]:
    """Return every command as its parser declares it."""
    return [_command(name, summary) for name, summary in COMMANDS.items()]


def _command(name: str, summary: str) -> Command:
    parser = argparse.ArgumentParser(prog=name)
    command_module(name).add_arguments(parser)
    options, choices = [], list[str]()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        offered = tuple(map(str, action.choices or ()))
        if action.option_strings:
            said = (action.help or "").replace("'", "")
            names = tuple(action.option_strings)
            options.append(Option(names, said, offered, action.nargs != 0))
        else:
            choices += offered
    return Command(name, summary, tuple(options), tuple(choices))


def bash() -> str:
    """Return the script for bash."""
    found = commands()
    cases = "\n".join(
        f"    {one.name}) words='{' '.join((*_names(one), *one.choices))}' ;;" for one in found
    )
    values = "\n".join(
        f"    {one.name}:{name}) COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$current\")); return ;;"
        for one in found
        for option in one.options
        for name in option.names
        if option.choices
    )
    return f"""\
_myrmidon() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(one.name for one in found)} --help --version' -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}:$previous" in
{values}
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _myrmidon myrmidon
"""


def zsh() -> str:
    """Return the script for zsh, which can use that of bash."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """Return the script for fish."""
    return "\n".join(_fish_lines(commands())) + "\n"


def _fish_lines(found: list[Command]) -> Iterator[str]:
    head = "complete -c myrmidon"
    for one in found:
        yield f"{head} -n __fish_use_subcommand -f -a {one.name} -d '{one.help}'"
    for one in found:
        here = f"{head} -n '__fish_seen_subcommand_from {one.name}'"
        if one.choices:
            yield f"{here} -a '{' '.join(one.choices)}'"
        for option in one.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else ""
            needs = " -r" if option.takes_value and not option.choices else ""
            yield f"{here} {names}{value}{needs} -d '{option.help}'"


def _names(command: Command) -> list[str]:
    return [name for option in command.options for name in option.names]


SCRIPTS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The script of each shell."""

"""Arguments to a command.

A command is a module with ``add_arguments(parser)`` and ``run(args) -> int``, whose docstring is its
help.  Only the module of the command that was asked for is loaded, so that each starts as fast as it
can.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from myrmidon.errors import MyrmidonError, UsageError

COMMANDS = {
    "init": "create a controller project",
    "dev": "run controllers on an embedded API server and watch them work",
    "run": "run controllers against a cluster",
    "server": "run a Kubernetes API server in memory",
    "simulate": "try controllers under every fault at every moment",
    "plan": "show what a pass would write, without writing it",
    "explain": "show where an object is in its graph and what it waits for",
    "reconcile": "ask for a pass over an object now",
    "release": "remove the finalizer of an object that its controller cannot delete",
    "graph": "draw the state graph of a controller",
    "generate": "write CRDs, roles and deployments from the controller classes",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 success, 1 failure, 2 wrong arguments."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except MyrmidonError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output closed the pipe. Without this, Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except BaseExceptionGroup as group:
        print(f"error: {_only_error(group)}", file=sys.stderr)
        return 1


def _only_error(group: BaseExceptionGroup[BaseException]) -> MyrmidonError:
    """Return the only error of a group if it is one of ours; re-raise anything else with its traceback."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if not isinstance(error, MyrmidonError):
        raise group
    return error


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="myrmidon", description="Kubernetes controllers declared as state machines"
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")
    wanted = next((each for each in arguments if not each.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == wanted:
            module = importlib.import_module(f"myrmidon.cli.commands.{name}")
            command.description = module.__doc__
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return 0
    code: int = args.run(args)
    return code


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: Any) -> None:
        try:
            said = version("myrmidon")
        except PackageNotFoundError:
            said = "(not installed; running from source)"
        print(f"myrmidon {said}")
        parser.exit()

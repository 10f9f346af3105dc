"""Arguments to a command.

A command is a module with ``add_arguments(parser)`` and ``run(args) -> int``, whose docstring is its
help.  Only the module of the command that was asked for is loaded, so that each starts as fast as it
can.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from myrmidon.cli.arguments.parser import Parser
from myrmidon.cli.progress import showing
from myrmidon.errors import DefinitionError, MyrmidonError, UsageError

COMMANDS = {
    "init": "create a controller project",
    "dev": "run controllers on an embedded API server and watch them work",
    "run": "run controllers against a cluster",
    "server": "run a Kubernetes API server in memory",
    "simulate": "try controllers under every fault at every moment",
    "plan": "show what a pass would write, without writing it",
    "explain": "show where an object is in its graph and what it waits for",
    "view": "show a recording of the live page, or a failed simulation, in a browser",
    "reconcile": "ask for a pass over an object now",
    "release": "remove the finalizer of an object that its controller cannot delete",
    "migrate-storage": "write all objects of a kind in its storage version",
    "shards": "show which replica owns which share of the objects",
    "graph": "draw the state graph of a controller",
    "generate": "write CRDs, roles and deployments from the controller classes",
    "completion": "print a completion script for bash, zsh or fish",
}

EXIT_CODES = {
    0: "success; also after SIGTERM or Ctrl-C to `run`, `dev` and `server`",
    1: "the command ran, and what it was asked for is not so: a file is out of date (--check), an object "
    "is not Ready in time, the user said no, a Lease was lost, the server refused a write",
    2: "it could not begin, and running it again unchanged would not help: a wrong argument, target, file "
    "or setting, an object that does not exist, a cluster that cannot be reached or refuses access",
    130: "interrupted by Ctrl-C before it was done",
}
"""What the exit status of each command means; docs/reference/cli.md has the same table."""


def command_module(name: str) -> ModuleType:
    """Load the module of a command: that of ``migrate-storage`` is ``migrate_storage``."""
    return import_module(f"myrmidon.cli.commands.{name.replace('-', '_')}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, see ``EXIT_CODES``."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with showing("starting"):
            return _run(arguments)
    except MyrmidonError as error:
        _tell(error)
        return 2 if isinstance(error, UsageError | DefinitionError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output closed the pipe. Without this, Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        print(f"error: {_file_problem(error)}", file=sys.stderr)
        return 2
    except BaseExceptionGroup as group:
        _tell(_only_error(group))
        return 1


def _tell(error: MyrmidonError) -> None:
    """Print an error with its notes, such as the line of a definition."""
    print("\n".join((f"error: {error}", *getattr(error, "__notes__", ()))), file=sys.stderr)


def _file_problem(error: OSError) -> str:
    """Return what is wrong with a file or folder that an argument or a setting names."""
    reason = (error.strerror or type(error).__name__).lower()
    return (
        f"{error.filename} cannot be used: {reason}.\n"
        "  fix: check the path and its permissions, or name another one"
    )


def _only_error(group: BaseExceptionGroup[BaseException]) -> MyrmidonError:
    """Return the only error of a group if it is one of ours; re-raise anything else with its traceback."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if not isinstance(error, MyrmidonError):
        raise group
    return error


def _run(arguments: list[str]) -> int:
    parser = Parser(
        prog="myrmidon", description="Kubernetes controllers declared as state machines"
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")
    wanted = next((each for each in arguments if not each.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == wanted:
            module = command_module(name)
            command.description = module.__doc__
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        asked = commands.choices[args.command] if args.command else parser
        asked.error(f"unrecognized arguments: {' '.join(unknown)}")
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

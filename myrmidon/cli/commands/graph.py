"""Draw the state graph of a controller.

mermaid  for pages that render it (GitHub does)
dot      for Graphviz
svg      a picture, drawn here; no other program is needed
"""

import argparse
from pathlib import Path
from typing import Any

from myrmidon.cli.targets import load
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.generate.diagram import svg

_FORMATS = ("mermaid", "dot", "svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("target", help="pkg.module[:Controller], or a folder with a controller.py")
    parser.add_argument(
        "--format", choices=_FORMATS, help="by default that of FILE's ending, else mermaid"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it there")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if FILE is not up to date"
    )


def run(args: argparse.Namespace) -> int:
    """Print, write or compare."""
    controllers = load([args.target])
    wanted = args.format or _format_of(args.output)
    if wanted == "svg" and len(controllers) > 1:
        names = ", ".join(each.__name__ for each in controllers)
        raise UsageError(
            f"{args.target} has several controllers, and a drawing shows one.\n"
            f"  fix: name one: {args.target}:NAME with NAME one of {names}"
        )
    text = "\n".join(drawn(each, wanted) for each in controllers)
    if args.output is None:
        print(text, end="")
    elif args.check:
        return _check(args, text)
    else:
        args.output.write_text(text)
    return 0


def drawn(controller: type[Controller[Any]], wanted: str) -> str:
    """The graph of one controller."""
    if wanted == "svg":
        return svg(controller.graph, f"the states of {controller.__name__}")
    if wanted == "dot":
        return controller.graph.dot(controller.__name__)
    return controller.graph.mermaid()


def _format_of(path: Path | None) -> str:
    ending = path.suffix.lstrip(".") if path is not None else ""
    return ending if ending in _FORMATS else "mermaid"


def _check(args: argparse.Namespace, text: str) -> int:
    path: Path = args.output
    if path.is_file() and path.read_text() == text:
        return 0
    command = f"myrmidon graph {args.target} -o {path}"
    raise UsageError(f"{path} is out of date.\n  fix: run `{command}` and commit what it writes")

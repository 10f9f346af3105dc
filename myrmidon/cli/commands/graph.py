"""Draw the state graph of a controller.

  myrmidon graph examples/web_app                      as Mermaid, to standard output
  myrmidon graph examples/web_app -o states.svg
  myrmidon graph examples/web_app -o states.svg --check

mermaid  for pages that render it (GitHub does)
dot      for Graphviz
svg      a picture, drawn here; no other program is needed
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from myrmidon.cli.arguments.files import write_file
from myrmidon.cli.progress import doing
from myrmidon.cli.targets.loading import load
from myrmidon.errors import UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.generate.diagram import svg

_FORMATS = ("mermaid", "dot", "svg")
_ENDINGS = {
    "": "mermaid", "md": "mermaid", "mermaid": "mermaid", "mmd": "mermaid", "txt": "mermaid",
    "dot": "dot", "gv": "dot", "svg": "svg",
}  # fmt: skip


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
    doing("drawing the graph")
    wanted = _format(args)
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
        write_file(args.output, text)
    return 0


def drawn(controller: type[Controller[Any]], wanted: str) -> str:
    """The graph of one controller."""
    if wanted == "svg":
        return svg(controller.graph, f"the states of {controller.__name__}")
    if wanted == "dot":
        return controller.graph.dot(controller.__name__)
    return controller.graph.mermaid()


def _format(args: argparse.Namespace) -> str:
    """Return the format of --format or of FILE's ending; refuse an ending that is not a format."""
    path: Path | None = args.output
    ending = path.suffix.lstrip(".").lower() if path is not None else ""
    if path is not None and ending not in _ENDINGS:
        raise UsageError(
            f"myrmidon graph cannot draw {path}: {ending} is not one of its formats.\n"
            f"  fix: write -o {path.with_suffix('.svg')}, or convert it with Graphviz: "
            f"`myrmidon graph {args.target} --format dot | dot -T{ending} -o {path}`"
        )
    return str(args.format or _ENDINGS[ending])


def _check(args: argparse.Namespace, text: str) -> int:
    path: Path = args.output
    if path.is_file() and path.read_text() == text:
        return 0
    command = f"myrmidon graph {args.target} -o {path}"
    print(f"{path} is out of date", file=sys.stderr)
    print(f"  fix: run `{command}` and commit what it writes", file=sys.stderr)
    return 1

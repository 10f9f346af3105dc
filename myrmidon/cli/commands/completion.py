"""Print a completion script for a shell: commands, options, choices, files.

  source <(myrmidon completion bash)                            bash, also in ~/.bashrc
  source <(myrmidon completion zsh)                             zsh, after compinit
  myrmidon completion fish > ~/.config/fish/completions/myrmidon.fish

The script holds the options of this version; print it again after an upgrade.
"""

import argparse

from myrmidon.cli.completions import SCRIPTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell to complete for")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(SCRIPTS[args.shell](), end="")
    return 0

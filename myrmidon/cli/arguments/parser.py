"""The parser of the command line: short answers to wrong arguments.

argparse prints the usage of the command before the error, which for ``myrmidon run`` are twenty lines.
Here a wrong argument is answered as every other mistake is: what is wrong, and how to fix it, with the
option or choice that was probably meant.
"""

import argparse
import re
import sys
from typing import NoReturn

from myrmidon.api.values.texts import nearest

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.+)\)")
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MISSING = re.compile(r"the following arguments are required: (.+)")


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are two lines."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and how to fix it, and exit with status 2."""
        print(f"error: {self.prog}: {message}.\n  fix: {self._fix(message)}", file=sys.stderr)
        sys.exit(2)

    def _fix(self, message: str) -> str:
        help_ = f"`{self.prog} --help` shows what it takes"
        if found := _CHOICE.search(message):
            close = nearest(found[1], re.findall(r"[\w-]+", found[2]))
        elif found := _UNKNOWN.search(message):
            close = nearest(found[1].partition("=")[0], self._option_string_actions)
        elif found := _MISSING.search(message):
            return f"add {found[1]}; {help_}"
        else:
            return help_
        return f"did you mean {close}?" if close else help_


def port(text: str) -> int:
    """Return a port number; 0 for a free one."""
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return number


def positive_seconds(text: str) -> float:
    """Return a duration in seconds, above 0."""
    return positive_number(text, "seconds")


def positive_number(text: str, of: str) -> float:
    """Return a number above 0; ``of`` says what is counted."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {of} above 0")
    return number


def namespace_name(text: str) -> str:
    """Return the name of a namespace."""
    if not _NAMESPACE.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a namespace; for several, repeat the option"
        )
    return text


def count(text: str) -> int:
    """Return a number that is not negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)

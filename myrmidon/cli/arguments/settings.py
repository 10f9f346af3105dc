"""Settings of a command from its flags, from environment variables and from a YAML file.

Each option of a command has one name in three spellings:

    flag                    --metrics-addr :9090
    environment variable    MYRMIDON_METRICS_ADDR=:9090
    line of the file        metrics-addr: ":9090"

The flag wins over the variable, the variable over the file, and the file over the default.  The
file is the one of ``--config``, or of ``MYRMIDON_CONFIG``.  A value goes through the same parsing as
the flag's, wherever it comes from; an option that may be repeated takes a list in the file and
comma-separated values in a variable.

How it works: ``add_settings`` replaces the default of every option by None, so that after parsing
``Settings.fill`` can tell which options have no flag, and look their values up.

An unknown name in the file is an error, because the file belongs to us.  An unknown variable is
not: Kubernetes itself sets ``MYRMIDON_SERVICE_HOST`` in a namespace with a Service called
``myrmidon``.  It is only reported if it looks like a misspelled option.
"""

import argparse
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from myrmidon.errors import UsageError

PREFIX = "MYRMIDON_"
_CONFIG = "config"
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Let every option that the parser has so far come from the environment or a file as well.

    Call it after all options were declared, and ``args.settings.fill(args, os.environ)`` first thing
    when the command runs.
    """
    options = {
        action.dest.replace("_", "-"): action
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of them
        if action.option_strings and action.dest != "help"
    }
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="YAML file with options, by their names without the dashes; "
        f"each can be a variable as well: {PREFIX}LOG_LEVEL for --log-level",
    )
    defaults = {name: action.default for name, action in options.items()}
    for action in options.values():
        action.default = None
    parser.set_defaults(settings=Settings(options, defaults))


class Settings:
    """The options of a command that may come from variables and from a file."""

    def __init__(self, options: Mapping[str, argparse.Action], defaults: Mapping[str, Any]) -> None:
        self._options, self._defaults = options, defaults

    def fill(self, args: argparse.Namespace, environ: Mapping[str, str]) -> list[str]:
        """Set the options that have no flag; return warnings about misspelled variables."""
        path = args.config or environ.get(PREFIX + _CONFIG.upper())
        found = {**(self._from_file(path) if path else {}), **self._from(environ)}
        for name, action in self._options.items():
            if getattr(args, action.dest) is None:
                setattr(args, action.dest, found.get(name, self._defaults[name]))
        return list(self._misspelled(environ))

    def _from(self, environ: Mapping[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, action in self._options.items():
            variable = _variable(name)
            if variable in environ:
                text = environ[variable]
                repeated = isinstance(action, argparse._AppendAction)  # noqa: SLF001 - no public name
                value = [part.strip() for part in text.split(",") if part.strip()]
                found[name] = _parsed(action, value if repeated else text, variable)
        return found

    def _from_file(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in _read(path).items():
            name = str(key).replace("_", "-")
            action = self._options.get(name)
            if action is None:
                close = get_close_matches(name, self._options, n=1)
                fix = f"write {close[0]}" if close else f"use one of {', '.join(self._options)}"
                raise UsageError(f"{path}: there is no option {key!r}.\n  fix: {fix}")
            found[name] = _parsed(action, value, f"{path}: {name}")
        return found

    def _misspelled(self, environ: Mapping[str, str]) -> Iterator[str]:
        known = [_variable(name) for name in (*self._options, _CONFIG)]
        for variable in sorted(environ):
            if variable.startswith(PREFIX) and variable not in known:
                close = get_close_matches(variable, known, n=1, cutoff=0.9)
                if close:
                    yield f"the variable {variable} is not an option; {close[0]} is"


def _variable(name: str) -> str:
    return PREFIX + name.replace("-", "_").upper()


def _read(path: str) -> Mapping[Any, Any]:
    import yaml  # noqa: PLC0415 - slow to load, and needed only with a file

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the file of --config cannot be read: {error}.\n  fix: give the path of a YAML file"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{path} is not valid YAML: {said}.\n  fix: correct it") from None
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise UsageError(
            f"{path} does not contain a mapping.\n  fix: write one option per line, as `log-level: debug`"
        )
    return content


def _parsed(action: argparse.Action, value: Any, where: str) -> Any:
    """Return the value as the flag would have it; raise ``UsageError`` if it does not fit."""
    if action.nargs == 0:
        return _truth(value, where)
    if isinstance(action, argparse._AppendAction):  # noqa: SLF001 - no public name
        values = value if isinstance(value, list) else [value]
        return [_one(action, each, where) for each in values]
    return _one(action, value, where)


def _one(action: argparse.Action, value: Any, where: str) -> Any:
    if isinstance(value, bool | dict | list) or value is None:
        raise UsageError(
            f"{where} is {value!r}, which is not a value for {action.option_strings[0]}.\n"
            f"  fix: write the value that the flag would have, in quotes"
        )
    text = str(value)
    try:
        parsed = action.type(text) if callable(action.type) else text
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise UsageError(
            f"{where} is {text!r}, which does not fit {action.option_strings[0]}: {error}.\n"
            f"  fix: `myrmidon run --help` shows which values it takes"
        ) from None
    if action.choices is not None and parsed not in action.choices:
        listed = ", ".join(map(str, action.choices))
        raise UsageError(f"{where} is {text!r}.\n  fix: use one of {listed}")
    return parsed


def _truth(value: Any, where: str) -> bool:
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise UsageError(f"{where} is {value!r}, which is neither true nor false.\n  fix: write true")

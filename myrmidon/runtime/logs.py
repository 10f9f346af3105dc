"""Logs: a constant message and the facts as keys, the same keys on every line of a pass.

``text`` is for people at a terminal, ``json`` for whatever collects lines.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

ROOT = "myrmidon"
_FACTS = "facts"
_UNCLEAR = re.compile('[ "\n=]')


class Logger:
    """Writes lines that carry the facts it was given."""

    __slots__ = ("_facts", "_logger")

    def __init__(self, to: str | logging.Logger = ROOT, **facts: Any) -> None:
        self._logger = logging.getLogger(to) if isinstance(to, str) else to
        self._facts = facts

    def having(self, **facts: Any) -> "Logger":
        """A logger whose lines carry these facts, too."""
        return Logger(self._logger, **{**self._facts, **facts})

    def debug(self, message: str, **facts: Any) -> None:
        """For passes that changed nothing."""
        self._write(logging.DEBUG, message, facts)

    def info(self, message: str, **facts: Any) -> None:
        """For changes."""
        self._write(logging.INFO, message, facts)

    def warning(self, message: str, **facts: Any) -> None:
        """For what should not happen and is retried."""
        self._write(logging.WARNING, message, facts)

    def error(self, message: str, **facts: Any) -> None:
        """For what needs a person."""
        self._write(logging.ERROR, message, facts)

    def failed(self, message: str, cause: BaseException | None, **facts: Any) -> None:
        """For what should not happen and is retried, with the traceback of its cause, if any."""
        self._write(logging.WARNING, message, facts, cause)

    def crash(self, message: str, error: BaseException, **facts: Any) -> None:
        """For what nobody expected, with its traceback."""
        self._write(logging.ERROR, message, facts, error)

    def _write(
        self, level: int, message: str, facts: Mapping[str, Any], error: BaseException | None = None
    ) -> None:
        if not self._logger.isEnabledFor(level):
            return
        # Not Logger.log: it looks for the line that called, which would always be this one.
        raised = None if error is None else (type(error), error, error.__traceback__)
        record = self._logger.makeRecord(self._logger.name, level, __file__, 0, message, (), raised)
        setattr(record, _FACTS, {**self._facts, **facts})
        self._logger.handle(record)


def configure(style: Literal["text", "json"] = "text", level: int = logging.INFO) -> None:
    """Write the lines of this package to standard error."""
    target = logging.StreamHandler(sys.stderr)
    target.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [target]
    logger.setLevel(level)
    logger.propagate = False


class TextFormatter(logging.Formatter):
    """``12:00:01 INFO  state failed  controller=web-app object=default/shop``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it if there is one."""
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        facts = " ".join(f"{key}={_plain(value)}" for key, value in _facts_of(record).items())
        line = f"{at} {record.levelname:<7} {record.getMessage()}  {facts}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: _jsonable(value) for key, value in _facts_of(record).items()},
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _facts_of(record: logging.LogRecord) -> Mapping[str, Any]:
    return getattr(record, _FACTS, None) or {}


def _plain(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return json.dumps(text) if not text or _UNCLEAR.search(text) else text


def _jsonable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)

"""Structured logs: a constant message with key-value pairs, called facts.

The message never contains values, so it can be searched for; all lines of a pass carry the same
keys (controller, object, reconcile_id).

The format ``text`` is for people at a terminal, ``json`` for log collectors.  A fact may contain
any text, for example an error that quotes a whole spec.  Whatever it contains, a record is one line
of bounded length (plus the traceback in the format ``text``), can be encoded as UTF-8, and is valid
JSON in the format ``json``.

Handlers with another formatter, such as pytest's, print the message and below it
``record.exc_text``.  The facts and the traceback are therefore stored there as well, escaped in the
same way.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Literal

from myrmidon.api.values.texts import printable, shortened, text_of

ROOT = "myrmidon"
_FACTS = "facts"
_FACTS_TEXT = "facts_text"  # the same as text, which is costly to make
_RESERVED = ("time", "level", "logger", "message", "traceback")  # keys of each JSON line
_OF_A_RECORD = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"))
_UNCLEAR = re.compile(r'[\x00-\x20"=\x7f-\x9f]')
_FACT_CHARACTERS_MAX = 8192
_TRACEBACK_CHARACTERS_MAX = 32_768


class Logger:
    """Logs messages with facts; a logger adds its own facts to every line."""

    __slots__ = ("_facts", "_logger")

    def __init__(self, to: str | logging.Logger = ROOT, **facts: Any) -> None:
        self._logger = logging.getLogger(to) if isinstance(to, str) else to
        self._facts = facts

    @property
    def target(self) -> logging.Logger:
        """The logger of the standard library that gets the records."""
        return self._logger

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts that every line has."""
        return self._facts

    def having(self, **facts: Any) -> "Logger":
        """Return a logger that adds these facts to every line as well."""
        return Logger(self._logger, **{**self._facts, **facts})

    @property
    def tells_changes(self) -> bool:
        """Whether lines at INFO are written; ask this before facts are computed for one."""
        return self._logger.isEnabledFor(logging.INFO)

    def debug(self, message: str, /, **facts: Any) -> None:
        """Log at DEBUG: passes that changed nothing, and other detail."""
        if self._logger.isEnabledFor(logging.DEBUG):  # saves a call in every pass
            self._write(logging.DEBUG, message, facts)

    def info(self, message: str, /, **facts: Any) -> None:
        """Log at INFO: a change that was made."""
        self._write(logging.INFO, message, facts)

    def warning(self, message: str, /, **facts: Any) -> None:
        """Log at WARNING: a failure that is retried."""
        self._write(logging.WARNING, message, facts)

    def error(self, message: str, /, **facts: Any) -> None:
        """Log at ERROR: a failure that needs a person."""
        self._write(logging.ERROR, message, facts)

    def crash(self, message: str, error: BaseException, /, **facts: Any) -> None:
        """Log an unexpected exception at ERROR, with its traceback."""
        self._write(logging.ERROR, message, facts, error)

    def _write(
        self, level: int, message: str, facts: Mapping[str, Any], error: BaseException | None = None
    ) -> None:
        if not self._logger.isEnabledFor(level):
            return
        # Not Logger.log: it would search the stack for the caller, and always find this line.
        raised = None if error is None else (type(error), error, error.__traceback__)
        record = self._logger.makeRecord(self._logger.name, level, __file__, 0, message, (), raised)
        setattr(record, _FACTS, {**self._facts, **facts})
        setattr(record, _FACTS_TEXT, _facts_text(record))
        record.exc_text = _details(record)
        self._logger.handle(record)


def configure(
    style: Literal["text", "json"] = "text",
    level: int = logging.INFO,
    *,
    whole_program: bool = False,
) -> None:
    """Write the log of this package to standard error, in the format ``style``.

    With ``whole_program``, write the logs of the user's program and its libraries in the same format
    and from the same level, unless the program has configured the root logger itself.
    """
    target = logging.StreamHandler(sys.stderr)
    target.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    logger = logging.getLogger(ROOT)
    logger.handlers[:] = [target]
    logger.setLevel(level)
    logger.propagate = False
    root = logging.getLogger()
    if whole_program and not root.handlers:
        root.addHandler(target)
        root.setLevel(level)


class TextFormatter(logging.Formatter):
    """``12:00:01 INFO  state failed  controller=web-app object=default/shop``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, with the traceback below it if there is one."""
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        facts = getattr(record, _FACTS_TEXT, None)
        if facts is None:  # a record of the user's program
            facts = _facts_text(record)
        line = f"{at} {record.levelname:<7} {_message(record)}  {facts}".rstrip()
        return f"{line}\n{_traceback(self, record)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a JSON object; the traceback is one of its fields."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key, value in _facts_of(record).items():
            line[f"{key}_" if key in _RESERVED else key] = _jsonable(value)
        if record.exc_info:
            line["traceback"] = _traceback(self, record)
        return json.dumps(line, ensure_ascii=False)


def _facts_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the facts of a record; for a record of the user's program, what it passed as ``extra``."""
    facts = getattr(record, _FACTS, None)
    if isinstance(facts, Mapping):
        return facts
    if record.name == ROOT or record.name.startswith(f"{ROOT}."):
        return {}
    return {key: value for key, value in vars(record).items() if key not in _OF_A_RECORD}


def _details(record: logging.LogRecord) -> str | None:
    """Return the facts and the traceback, as other formatters print them below the message."""
    facts = getattr(record, _FACTS_TEXT)
    lines = [f"  {facts}"] if facts else []
    if record.exc_info:
        lines.append(_traceback(_PLAIN, record))
    return "\n".join(lines) or None


def _facts_text(record: logging.LogRecord) -> str:
    """Return the facts of a record as ``key=value key=value``."""
    return " ".join(f"{key}={_plain(value)}" for key, value in _facts_of(record).items())


def _message(record: logging.LogRecord) -> str:
    return _line(record.getMessage())


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    assert record.exc_info, "called only for records with an exception"
    text = formatter.formatException(record.exc_info)
    return shortened(printable(text), _TRACEBACK_CHARACTERS_MAX)


def _plain(value: Any) -> str:
    text = ", ".join(map(text_of, value)) if type(value) in (list, tuple) else text_of(value)
    line = _line(text)
    return json.dumps(line) if not line or _UNCLEAR.search(line) else line


def _jsonable(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return _line(text_of(value))


_PLAIN = logging.Formatter()


def _line(text: str) -> str:
    return shortened(printable(text), _FACT_CHARACTERS_MAX)

"""The log of the user's program beside ours: one format, one level, keys that cannot be overwritten."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from myrmidon.runtime.logs import JsonFormatter, Logger, TextFormatter, configure


@contextmanager
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Standard error, and a root logger as in a new process, without the handlers of pytest."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    try:
        yield written
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    """What was written, as JSON."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_the_log_of_the_program_has_our_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it passes as extra, with its arguments, and with its traceback in one line."""
    with new_process(monkeypatch) as stream:
        configure("json", logging.INFO, whole_program=True)
        orders = logging.getLogger("shop.orders")
        orders.info("%d orders", 3, extra={"shop": "a"})
        orders.debug("not shown")
        orders.error("order lost", exc_info=KeyError("data"))
        Logger("myrmidon.manager").info("serving", address=":8080")

    first, second, ours = lines(stream)
    assert {key: first[key] for key in ("level", "logger", "message", "shop")} == {
        "level": "info",
        "logger": "shop.orders",
        "message": "3 orders",
        "shop": "a",
    }
    assert str(second["traceback"]).endswith("KeyError: 'data'")
    assert (ours["logger"], ours["address"]) == ("myrmidon.manager", ":8080")


def test_a_program_that_configures_its_log_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours is written as before, once."""
    own = io.StringIO()
    with new_process(monkeypatch) as stream:
        logging.basicConfig(stream=own, format="%(message)s", level=logging.INFO)
        configure("json", logging.INFO, whole_program=True)
        logging.getLogger("shop").info("hello")
        Logger("myrmidon.manager").info("serving")
    assert own.getvalue() == "hello\n"
    assert [line["message"] for line in lines(stream)] == ["serving"]


def test_the_log_of_the_program_is_left_alone_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A manager inside another program does not configure that program's log."""
    with new_process(monkeypatch):
        configure("text", logging.INFO)
        assert not logging.getLogger().handlers


@pytest.mark.parametrize("key", ["time", "level", "logger", "message", "traceback"])
def test_a_key_of_the_line_itself_cannot_be_overwritten(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A collector relies on them; the value of the user gets an underscore."""
    caplog.set_level(logging.INFO)
    Logger("myrmidon.test").info("wrote", **{key: "mine"})
    line = json.loads(JsonFormatter().format(caplog.records[-1]))
    assert line[f"{key}_"] == "mine"
    assert line.get("message") == "wrote"
    assert line["level"] == "info"


def test_text_lines_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    """With extra as key=value."""
    caplog.set_level(logging.INFO)
    logging.getLogger("shop").info("hello", extra={"order": 7})
    assert TextFormatter().format(caplog.records[-1]).endswith("INFO    hello  order=7")

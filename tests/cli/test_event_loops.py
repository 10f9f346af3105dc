"""Which event loop `myrmidon run` uses."""

import argparse
import asyncio
import sys
from types import SimpleNamespace

import pytest

from myrmidon.cli.arguments.event_loops import add_event_loop_argument, loop_factory
from myrmidon.errors import UsageError


def test_uvloop_is_used_if_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless asyncio's own is asked for."""
    uvloop = SimpleNamespace(new_event_loop=asyncio.new_event_loop)
    monkeypatch.setitem(sys.modules, "uvloop", uvloop)
    assert loop_factory("auto") is uvloop.new_event_loop
    assert loop_factory("uvloop") is uvloop.new_event_loop
    assert loop_factory("asyncio") is None


def test_without_uvloop_asyncio_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """If uvloop is asked for by name, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory("auto") is None
    with pytest.raises(UsageError, match=r"no uvloop.*\n  fix: pip install 'myrmidon\[fast\]'"):
        loop_factory("uvloop")


def test_auto_is_the_default() -> None:
    """Another one can be chosen by the flag."""
    parser = argparse.ArgumentParser()
    add_event_loop_argument(parser)
    assert parser.parse_args([]).event_loop == "auto"
    assert parser.parse_args(["--event-loop", "asyncio"]).event_loop == "asyncio"

"""Values that cannot be written: the controller continues, and the object says what is wrong."""

import json
import logging
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from myrmidon import Controller, Model, Resource, Status, kinds, state
from myrmidon.api.objects.conditions import Condition, ConditionValue
from myrmidon.fsm import Done, Failed, Result, Wait
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Act, Thing, Things, config_map, thing

HALF = "half \ud800 of it"
SHOWN = "half \ufffd of it"
HOUR = timedelta(hours=1)


def fails(error: Exception) -> Act:
    """Return a state that raises."""

    def act(_thing: Thing, _out: OutputSet, _ctx: Context) -> Result:
        raise error

    return act


def returns(make: Callable[[], Any]) -> Act:
    """Return a state that returns a result, built when it runs."""
    return lambda _thing, _out, _ctx: make()


def after(act: Act, condition_type: str = "First") -> Condition:
    """Return the condition of the object after an hour with that state, beside another object."""
    with Harness(Things(act)) as cluster:
        cluster.apply(thing("it"))
        cluster.advance(HOUR)
        condition = cluster.condition(Thing, "it", condition_type)
    assert condition is not None, "the condition was lost"
    return condition


class UnreadableError(Exception):
    """An error whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("act", "reason", "message"),
    [
        (returns(lambda: Wait("Waiting", HALF)), "Waiting", SHOWN),
        (returns(lambda: Failed("Broken", HALF)), "Broken", SHOWN),
        (returns(lambda: Failed("Broken", ValueError(HALF))), "Broken", SHOWN),
        (
            returns(lambda: Done(condition=ConditionValue("False", "Partly", HALF))),
            "Partly",
            SHOWN,
        ),
        (fails(ValueError(HALF)), "InternalError", SHOWN),
        (fails(UnreadableError()), "InternalError", "cannot be read: RuntimeError"),
        (returns(lambda: Wait("Waiting", 5)), "ProgrammingError", "is not a string"),  # type: ignore[arg-type]
        (returns(lambda: Wait("has spaces")), "ProgrammingError", "'has spaces'"),
        (returns(lambda: Wait(7)), "ProgrammingError", "the reason 7"),  # type: ignore[arg-type]
        (returns(lambda: HALF), "NoResult", r"\ud800"),
        (returns(lambda: "x" * 1_000_000), "NoResult", "which is not a result"),
        (fails(ValueError("x" * 1_000_000)), "InternalError", "characters left out)"),
    ],
    ids=range(12),
)
def test_any_text_of_a_state_reaches_its_condition(act: Act, reason: str, message: str) -> None:
    """C1: a condition is never lost because of its text."""
    condition = after(act)

    assert condition.reason == reason
    assert message in condition.message
    assert len(condition.message) <= 32_768


def test_an_event_with_any_text_is_recorded() -> None:
    """Q9: the recorder and the manager continue."""

    def act(it: Thing, _out: OutputSet, ctx: Context) -> Result:
        ctx.event("Warning", "Half", HALF)
        ctx.event("Normal", "Long", "ä" * 5000)
        ctx.event(None, None, None)  # type: ignore[arg-type]
        ctx.event("Normal", "Last", "fine")
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing("it"))
        cluster.advance(HOUR)
        events = {one["reason"]: one["message"] for one in cluster.list(kinds.EVENT)}

        assert cluster.ready(Thing, "it")
    assert events["Half"] == SHOWN
    assert len(events["Long"].encode()) <= 1024
    assert events["Last"] == "fine"


class LooseStatus(Status):
    """A status with a part that has no schema."""

    free: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it


class LooseSpec(Model):
    """An empty spec."""


class Loose(Resource[LooseSpec, LooseStatus], group="test.myrmidon.dev", version="v1"):
    """A resource whose status holds anything."""


class Looses(Controller[Loose]):
    """Sets one status field to a value of the test."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @state(initial=True)
    def told(self, loose: Loose, out: OutputSet) -> Result:
        """Set the status field."""
        loose.status.free = {"value": self._value}
        return Done()


def told_by(value: Any) -> tuple[Any, Condition]:
    """Return the stored status field and Ready, after a state set the field to the value."""
    with Harness(Looses(value)) as cluster:
        cluster.apply(Loose(name="it"))
        cluster.advance(HOUR)
        status = cluster.require(Loose, "it").raw.get("status") or {}
        ready = cluster.condition(Loose, "it")
        writes = len(cluster.writes)
    assert ready is not None, "the condition was lost"
    assert writes == 1
    return status.get("free"), ready


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (math.nan, "status.free.value is nan, and JSON has no such number"),
        (math.inf, "status.free.value is inf, and JSON has no such number"),
        (2**70, "status.free.value is an integer of more than 64 bits"),
        (object(), "status cannot be written as JSON"),
        (b"\xff", "status cannot be written as JSON"),
    ],
    ids=["nan", "inf", "int", "object", "bytes"],
)
def test_a_status_field_that_has_no_json_is_reported_in_ready(value: Any, told: str) -> None:
    """It is not written as null, and the conditions are written nevertheless."""
    free, ready = told_by(value)

    assert free is None
    assert (ready.status, ready.reason) == ("False", "InvalidStatus")
    assert told in ready.message
    assert "fix: " in ready.message


def test_text_in_a_status_field_is_made_printable() -> None:
    """People read the status."""
    free, ready = told_by(HALF)

    assert free == {"value": SHOWN}
    assert ready.status == "True"


@pytest.mark.parametrize("value", [HALF, math.nan, {1: 2}, {1}, 2**64])
def test_an_output_that_has_no_json_is_reported_with_its_path(value: Any) -> None:
    """No part of it is sent."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply({**config_map("child", ""), "data": {"x": value}})
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing("it"))
        cluster.advance(HOUR)
        condition = cluster.condition(Thing, "it", "First")

        assert cluster.get(kinds.CONFIG_MAP, "child") is None
    assert condition is not None
    assert condition.reason == "InvalidOutput"
    assert "ConfigMap child cannot be written as JSON: data.x" in condition.message


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_log_line_is_one_line_that_can_be_encoded(style: str) -> None:
    """For any values of its extra fields."""
    from myrmidon.runtime.logs import JsonFormatter, Logger, TextFormatter  # noqa: PLC0415

    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    logger = logging.getLogger(f"myrmidon.test.{style}")
    logger.propagate = False
    handler = Keep()
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    logger.handlers[:] = [handler]
    facts = {"a": HALF, "b": math.nan, "c": UnreadableError(), "d": "\x1b[2J", "e": "x" * 10**6}
    Logger(logger).warning("told", **facts, f=["y", HALF], g=None, h="")

    (line,) = lines
    line.encode()
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 10_000
    if style == "json":
        read = json.loads(line, parse_constant=pytest.fail)
        assert (read["a"], read["b"], read["g"]) == (SHOWN, "nan", None)

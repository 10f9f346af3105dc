"""The strategies draw objects that the server accepts."""

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import Field

from myrmidon import Model, Resource, Status
from myrmidon.api.typed.markers import ListMap, Rule
from myrmidon.api.typed.scalars import Duration, Quantity
from myrmidon.errors import UsageError
from myrmidon.testing import Crash, Harness, Script
from myrmidon.testing.properties.strategies import edits, faults, names, resources, scripts
from tests.generate.shapes import RESOURCES
from tests.testing.machines import Calm, Thing, ThingSpec


class Port(Model):
    """A port."""

    name: str = Field(pattern=r"^[a-z]{1,4}$")
    number: int = Field(gt=0, lt=65536)


class BoxSpec(Model):
    """Fields of several types."""

    size: int = Field(ge=3, le=9, multiple_of=3)
    colour: Literal["red", "green"] = "red"
    ports: Annotated[list[Port], ListMap("name")] = Field(min_length=1, max_length=4)
    memory: Quantity | None = None
    patience: Duration | None = None
    low: Annotated[int, Rule("self < 50")] = 0


class Box(Resource[BoxSpec, Status], group="demo.myrmidon.dev", version="v1", plural="boxes"):
    """A box."""


@pytest.mark.parametrize("shape", RESOURCES)
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_drawn_object_is_accepted(shape: str, data: st.DataObject) -> None:
    """By the class and by a server with its CRD; filtering alone would discard too many."""
    obj = data.draw(resources(RESOURCES[shape]))
    assert isinstance(obj, RESOURCES[shape])
    assert obj.spec is not None


@settings(max_examples=30)
@given(box=resources(Box))
def test_constraints_hold(box: Box) -> None:
    """Bounds, enums, keys of list maps and rules."""
    spec = box.spec
    assert spec.size in (3, 6, 9)
    assert 1 <= len({port.name for port in spec.ports}) == len(spec.ports) <= 4
    assert all(0 < port.number < 65536 for port in spec.ports)
    assert spec.low < 50


def test_each_possibility_is_drawn() -> None:
    """Including optional fields, and values at the bounds."""
    drawn: list[BoxSpec] = []

    @settings(max_examples=100, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
    @given(edits(Box))
    def draw(spec: BoxSpec) -> None:
        drawn.append(spec)

    draw()
    assert {spec.colour for spec in drawn} == {"red", "green"}
    assert {spec.size for spec in drawn} == {3, 6, 9}
    assert {len(spec.ports) for spec in drawn} >= {1, 2, 3}
    assert any(spec.memory is not None and spec.memory > Quantity("1Gi") for spec in drawn)
    assert any(spec.patience is not None for spec in drawn)
    assert any(spec.memory is None for spec in drawn)


@settings(max_examples=20)
@given(
    box=resources(
        Box, name=st.just("mine"), fields={"ports[].number": st.just(80), "size": st.just(6)}
    )
)
def test_the_caller_can_set_fields_and_names(box: Box) -> None:
    """By their path on the wire."""
    assert box.name == "mine"
    assert box.spec.size == 6
    assert {port.number for port in box.spec.ports} == {80}


def test_a_field_that_does_not_exist_is_an_error() -> None:
    """A misspelt field would otherwise be ignored."""
    with pytest.raises(UsageError, match=r"the spec of Box has no field sizes"):
        resources(Box, fields={"sizes": st.just(1)})


@settings(max_examples=20)
@given(name=names(), script=scripts(within=8))
def test_a_script_of_faults_fits_the_harness(name: str, script: Script) -> None:
    """The controllers recover from every drawn script."""
    with Harness(
        Calm(), faults=lambda request: None if is_start(request) else script(request)
    ) as cluster:
        cluster.apply(Thing(name=name, spec=ThingSpec()))
        for _ in range(10):
            cluster.settle()
            if not cluster.crashed:
                break
            cluster.restart()
        cluster.settle()


def test_crashes_can_be_left_out() -> None:
    """For a test that does not restart."""
    drawn: list[Any] = []

    @settings(max_examples=100)
    @given(faults(crashes=False))
    def draw(found: dict[int, Any]) -> None:
        drawn.extend(found.values())

    draw()
    assert drawn
    assert not any(isinstance(each, Crash) for each in drawn)


def test_the_kit_itself_does_not_import_hypothesis() -> None:
    """Only these two modules do."""
    code = "import sys, myrmidon.testing; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def is_start(request: Any) -> bool:
    """Whether it is one of the requests at the start, whose failure ends the process."""
    return ("limit", "1") in request.query

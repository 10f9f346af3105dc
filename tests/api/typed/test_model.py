"""Model: which fields are set, sent and read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.api.apps import AppSpec, AppStatus, Port

UNKNOWN = st.dictionaries(
    st.sampled_from(["x", "yZ", "image_"]),
    st.one_of(st.none(), st.integers(-9, 9), st.lists(st.text(max_size=2), max_size=2)),
    max_size=2,
)
PORTS = st.builds(
    lambda known, unknown: {**unknown, **known},
    st.fixed_dictionaries(
        {"portName": st.text(max_size=3)}, optional={"number": st.integers(0, 9)}
    ),
    UNKNOWN,
)
SPECS = st.builds(
    lambda known, unknown: {**unknown, **known},
    st.fixed_dictionaries(
        {"image": st.text(min_size=1, max_size=3)},
        optional={
            "replicas": st.integers(0, 50),
            "hosts": st.lists(st.text(max_size=3), max_size=2),
            "ports": st.lists(PORTS, max_size=2),
            "byName": st.dictionaries(st.text(max_size=2), PORTS, max_size=2),
            "memory": st.sampled_from([None, "1Gi", "1024Mi", 5, "0.5"]),
            "port": st.sampled_from([None, 80, "http"]),
        },
    ),
    UNKNOWN,
)


@given(spec=SPECS)
def test_a_model_is_written_as_it_was_read(spec: dict[str, Any]) -> None:
    """Unset, None, empty and unknown fields survive a round trip, at every depth."""
    assert AppSpec.from_wire(spec).to_wire() == spec


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        (AppSpec(image="i"), {"image": "i"}),
        (AppSpec(image="i", replicas=1), {"image": "i", "replicas": 1}),
        (AppSpec(image="i", memory=None), {"image": "i", "memory": None}),
        (AppSpec(image="i", hosts=[], by_name={}), {"image": "i", "hosts": [], "byName": {}}),
        (
            AppSpec(image="i", ports=[Port(port_name="p")]),
            {"image": "i", "ports": [{"portName": "p"}]},
        ),
        (
            AppSpec(image="i", by_name={"a": Port(port_name="p", number=80)}),
            {"image": "i", "byName": {"a": {"portName": "p", "number": 80}}},
        ),
    ],
    ids=["unset", "default set", "none", "empty", "nested", "map"],
)
def test_exactly_the_fields_that_were_set_are_sent(model: AppSpec, sent: dict[str, Any]) -> None:
    """A4: never assigned is not sent, None is null, empty is empty."""
    assert model.to_wire() == sent


def test_a_default_that_was_changed_in_place_counts_as_set() -> None:
    """`spec.hosts.append(...)` would be silently lost otherwise."""
    spec = AppSpec(image="i")
    spec.hosts.append("h")
    spec.by_name["p"] = Port(port_name="p")

    assert spec.to_wire() == {"image": "i", "hosts": ["h"], "byName": {"p": {"portName": "p"}}}


def test_an_unknown_name_is_a_mistake_in_python_and_kept_from_the_wire() -> None:
    """A typo in an output must not become an unknown field that the server drops."""
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        AppSpec(image="i", imgae="j")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        AppSpec.model_validate(
            {"image": "i", "ports": [{"portName": "p", "numbr": 1}]}, extra="forbid"
        )

    assert AppSpec.from_wire({"image": "i", "imgae": "j"}).to_wire() == {"image": "i", "imgae": "j"}


def test_assigning_an_unknown_field_lists_the_known_ones() -> None:
    """A misspelt status field would never be written."""
    status = AppStatus()

    with pytest.raises(AttributeError) as error:
        status.ulr = "x"  # type: ignore[attr-defined]
    assert str(error.value) == "AppStatus has no field 'ulr'; did you mean 'url'?"

    with pytest.raises(AttributeError) as error:
        Port(port_name="p").zzz = "x"  # type: ignore[attr-defined]
    assert str(error.value) == "Port has no field 'zzz'; it has 'port_name', 'number'"


def test_assignments_are_checked() -> None:
    """The wrong assignment fails, not the write at the end of the pass."""
    with pytest.raises(ValidationError, match="valid string"):
        AppStatus().url = 5  # type: ignore[assignment]


def test_a_wire_name_in_the_spelling_of_python_is_an_unknown_field() -> None:
    """The server would prune it; taking it for the field would hide that."""
    read = AppSpec.from_wire({"image": "i", "by_name": {"a": 1}})

    assert read.by_name == {}
    assert read.to_wire() == {"image": "i", "by_name": {"a": 1}}

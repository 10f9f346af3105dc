"""Status: the patch for what a pass changed."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api import status_patch
from myrmidon.api.typed.status import difference
from myrmidon.patch.merge_patch import merge
from tests.api.apps import App, AppStatus, Port, manifest

PORTS = st.fixed_dictionaries(
    {"portName": st.sampled_from("ab")},
    optional={"number": st.integers(0, 2), "new": st.integers(0, 1)},
)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "url": st.sampled_from(["u", "v"]),
        "hosts": st.lists(st.sampled_from("ab"), max_size=2),
        "counts": st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2),
        "mainPort": PORTS,
        "seenAt": st.sampled_from(["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000+00:00"]),
        "conditions": st.just([{"type": "Other", "status": "True"}]),
        "observedGeneration": st.integers(1, 2),
        "unknown": st.integers(0, 2),
    },
)
CHANGES = st.lists(
    st.sampled_from(
        [
            lambda s: setattr(s, "url", None),
            lambda s: setattr(s, "url", "v"),
            lambda s: s.hosts.append("b"),
            lambda s: s.hosts.clear(),
            lambda s: setattr(s, "hosts", ["a"]),
            lambda s: s.counts.pop("a", None),
            lambda s: s.counts.update(b=2),
            lambda s: setattr(s, "main_port", Port(port_name="b")),
            lambda s: setattr(s, "main_port", None),
            lambda s: setattr(s.main_port or Port(port_name="x"), "number", 1),
            lambda s: setattr(s, "seen_at", s.seen_at),
        ]
    ),
    max_size=4,
)


@given(status=STATUSES, changes=CHANGES)
def test_the_patch_makes_the_status_what_the_state_sees(
    status: dict[str, Any], changes: list[Any]
) -> None:
    """The patch is applied to the status as read; the result must equal what the state saw."""
    app = App.from_json(manifest(status=deepcopy(status)))
    for change in changes:
        change(app.status)
    patch = status_patch(app)
    written = AppStatus.from_wire(merge(deepcopy(status), patch))

    for field in AppStatus.model_fields:
        assert getattr(written, field) == getattr(app.status, field)
    assert not patch.keys() & {"conditions", "observedGeneration", "resourceRefs", "unknown"}


@given(status=STATUSES)
def test_without_a_change_there_is_no_patch(status: dict[str, Any]) -> None:
    """C5: also if the server formats a time differently."""
    app = App.from_json(manifest(status=status))

    assert app.status.hosts is not None
    assert status_patch(app) == {}


@given(status=STATUSES, changes=CHANGES)
def test_a_second_pass_has_nothing_to_write(status: dict[str, Any], changes: list[Any]) -> None:
    """The same assignments on what was written change nothing: a controller converges."""
    app = App.from_json(manifest(status=deepcopy(status)))
    app.status.url, app.status.hosts, app.status.counts = None, ["a"], {"a": 1}
    written = merge(status, status_patch(app))
    again = App.from_json(manifest(status=written))
    again.status.url, again.status.hosts, again.status.counts = None, ["a"], {"a": 1}

    assert status_patch(again) == {}


def test_none_is_null_only_if_the_field_exists() -> None:
    """Null for an absent field would be a request that changes nothing."""
    app = App.from_json(manifest(status={"url": "u"}))
    app.status.url = None
    assert status_patch(app) == {"url": None}

    app = App.from_json(manifest())
    app.status.url = None
    assert status_patch(app) == {}


def test_true_is_not_one() -> None:
    """A5: in Python they are equal."""
    app = App.from_json(manifest(status={"anything": {"a": [1]}}))
    app.status.anything = {"a": [True]}

    assert status_patch(app) == {"anything": {"a": [True]}}


def test_the_status_may_be_replaced_as_a_whole() -> None:
    """Fields that it lacks are removed, except those that the framework wrote."""
    app = App.from_json(
        manifest(
            status={"url": "u", "hosts": ["a"], "conditions": [{"type": "A", "status": "True"}]}
        )
    )
    app.status = AppStatus(hosts=["b"])

    assert status_patch(app) == {"url": None, "hosts": ["b"]}


def test_a_status_that_no_state_used_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most passes do not use it; then nothing is encoded.  One read access is enough to compare."""
    compared: list[Any] = []

    def counted(*both: Any) -> Any:
        compared.append(both)
        return difference(*both)

    monkeypatch.setattr("myrmidon.api.typed.resource.difference", counted)
    app = App.from_json(manifest(status={"hosts": ["a"]}))

    assert status_patch(app) == {}
    assert not compared
    hosts = app.status.hosts
    assert status_patch(app) == {}
    assert len(compared) == 1
    hosts.append("b")  # in place, after the status was compared
    assert status_patch(app) == {"hosts": ["a", "b"]}


def test_a_status_that_was_replaced_without_reading_the_old_one() -> None:
    """Assigning the status counts as a use of it."""
    app = App.from_json(manifest(status={"url": "u"}))
    app.status = AppStatus()

    assert status_patch(app) == {"url": None}

"""A14: a field that the server does not know is refused or reported, never silently dropped."""

from datetime import timedelta
from typing import Any

import pytest

from myrmidon.api import Model, Resource, Status
from myrmidon.api.objects import kinds
from myrmidon.fsm import Controller, Done, Result, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness
from tests.runtime.things import Act, Thing, Things, config_map, events, first, thing

MAP = kinds.CONFIG_MAP
HOUR = timedelta(hours=1)
WAYS: dict[str, dict[str, Any]] = {
    "merge": {},
    "update": {"as_update": True},
    "server-side": {"server_side": True},
}


def with_a_typo(**options: Any) -> Act:
    """A state whose manifest says ``dta`` from the second value on."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        child = config_map("child", it.spec.value)
        if it.spec.value != "a":
            child["dta"] = {"lost": "x"}
        out.apply(child, **options)
        return Done()

    return act


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exists", [False, True], ids=["create", "change"])
def test_a14_a_misspelt_field_is_refused(way: str, exists: bool) -> None:
    """The condition names the object, the field and the fix."""
    with Harness(Things(with_a_typo(**WAYS[way]))) as cluster:
        cluster.apply(thing(value="a" if exists else "b"))
        cluster.advance(HOUR / 60)
        if exists:
            cluster.patch(Thing, "it", {"spec": {"value": "b"}})
            cluster.advance(HOUR / 60)

        assert first(cluster).reason == "UnknownField"
        assert first(cluster).message.startswith("ConfigMap default/child was not written: ")
        assert "dta" in first(cluster).message
        assert "fix: correct the name of the field" in first(cluster).message
        assert not cluster.ready(Thing, "it")


def test_a14_with_warn_the_field_is_dropped_and_reported_once() -> None:
    """By one Event, however many passes write the object."""
    with Harness(Things(with_a_typo(field_validation="Warn"))) as cluster:
        for value in "abcb":
            cluster.apply(thing(value=value))
            cluster.settle()
        assert cluster.ready(Thing, "it")
        assert cluster.require(MAP, "child")["data"] == {"value": "b"}
        assert events(cluster, "ApiWarning") == ['ConfigMap default/child: unknown field "dta"']


def test_a14_with_ignore_nothing_is_reported() -> None:
    """The field is dropped, as the option asks."""
    with Harness(Things(with_a_typo(field_validation="Ignore"))) as cluster:
        cluster.apply(thing(value="b"))
        cluster.settle()
        assert cluster.ready(Thing, "it")
        assert events(cluster, "ApiWarning") == []


class Loose(Model):
    """A spec."""

    value: str = ""


class Tight(Status):
    """A status with a field that the cluster's CRD lacks."""

    note: str | None = None


class Old(Resource[Loose, Tight], group="test.myrmidon.dev", version="v1", plural="olds"):
    """An object whose CRD in the cluster is older than the program."""


class Olds(Controller[Old]):
    """Sets a field of the status."""

    @state(initial=True, condition="Noted")
    def noted(self, it: Old, _out: OutputSet) -> Result:
        """The note is there."""
        it.status.note = "new"
        return Done()


def test_a_status_field_that_the_schema_lacks_is_reported_and_the_rest_is_written() -> None:
    """Refusing the whole status would hide the conditions."""
    with Harness(Olds()) as cluster:
        crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, "olds.test.myrmidon.dev")
        del crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"][
            "properties"
        ]["note"]
        cluster.apply(crd)
        cluster.apply(Old(name="it", spec=Loose()))
        cluster.advance(HOUR)
        assert cluster.ready(Old, "it")
        assert events(cluster, "ApiWarning") == [
            'Old.test.myrmidon.dev default/it: unknown field "status.note"'
        ]

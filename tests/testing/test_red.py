"""What pytest prints for the first failing tests of a new user."""

import logging
from datetime import timedelta

import pytest

from myrmidon import Controller, Done, Failed, OutputSet, Result, kinds, state
from myrmidon.testing import Harness, NotSettledError
from myrmidon.testing.harness.failures import OncePerFailure, told_object
from tests.testing.machines import Thing, ThingSpec, config_map

pytest_plugins = ["pytester"]

CONTROLLERS = """
from datetime import timedelta

from myrmidon import *
from myrmidon.testing import Harness
from tests.testing.machines import Thing, ThingSpec, config_map


class Broken(Controller[Thing]):
    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def made(self, thing, out):
        settings = {}
        out.apply(config_map(thing.name, size=settings["size"]))
        return Done()


class Refused(Controller[Thing]):
    manages = (kinds.CONFIG_MAP,)

    @state(initial=True)
    def made(self, thing, out):
        out.apply(config_map(thing.name + "_x"))
        return Done()


class Waiting(Controller[Thing]):
    @state(initial=True)
    def made(self, thing, out):
        return Wait("NoBucket", "the bucket b is not there", after=timedelta(minutes=1))


THING = Thing(name="a", spec=ThingSpec(size=1))


"""


def lines_of(pytester: pytest.Pytester, test: str) -> list[str]:
    """Return what pytest prints for a test that fails."""
    pytester.makepyfile(CONTROLLERS + test)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(failed=1)
    return result.outlines


def test_an_exception_of_a_state_is_shown_once_with_the_users_line(
    pytester: pytest.Pytester,
) -> None:
    """Object, state, reason, error and line; one traceback, however many retries."""
    lines = lines_of(
        pytester,
        "def test_red(harness):\n"
        "    cluster = harness(Broken())\n"
        "    cluster.apply(THING)\n"
        "    cluster.settle()\n",
    )

    shown = "\n".join(lines)
    assert "E         Thing.demo.myrmidon.dev default/a" in lines
    assert "state made: Made is False (InternalError): KeyError: 'size' (test_an" in shown
    assert "its next pass is due in 0:0" in shown
    assert shown.count("pass failed") == 1
    assert shown.count("KeyError: 'size'\n") == 1
    assert "object=default/a" in shown
    assert '    out.apply(config_map(thing.name, size=settings["size"]))' in lines
    assert not [line for line in lines if line.startswith("self = <myrmidon")]


def test_a_refusal_is_shown_in_the_servers_words(pytester: pytest.Pytester) -> None:
    """Also if a plain assert fails, with the fixture."""
    lines = lines_of(
        pytester,
        "def test_red(harness):\n"
        "    cluster = harness(Refused())\n"
        "    cluster.apply(THING)\n"
        "    cluster.advance(timedelta(minutes=20))\n"
        "    assert cluster.ready(Thing, 'a')\n",
    )

    at = next(number for number, line in enumerate(lines) if "objects that are not Ready" in line)
    assert lines[at + 1] == "  Thing.demo.myrmidon.dev default/a"
    assert lines[at + 2].startswith(
        "      state made: Made is False (Invalid): ConfigMap default/a_x: metadata.name: Invalid "
        'value: "a_x": a lowercase RFC 1123 subdomain must consist of'
    )
    assert "\n".join(lines).count("pass failed") == 1


def test_what_an_object_waits_for_is_a_note_on_the_error(pytester: pytest.Pytester) -> None:
    """If a plain assert fails inside ``with Harness``."""
    lines = lines_of(
        pytester,
        "def test_red():\n"
        "    with Harness(Waiting()) as cluster:\n"
        "        cluster.apply(THING)\n"
        "        cluster.advance(timedelta(minutes=20))\n"
        "        assert cluster.ready(Thing, 'a')\n",
    )

    shown = "\n".join(line.removeprefix("E").strip() for line in lines)
    assert (
        "objects that are not Ready:\n"
        "Thing.demo.myrmidon.dev default/a\n"
        "state made: Made is False (NoBucket): the bucket b is not there\n"
        "its next pass is due in 0:01:00"
    ) in shown


def test_a_test_that_passes_prints_nothing(pytester: pytest.Pytester) -> None:
    """Even if an object is not Ready."""
    pytester.makepyfile(
        CONTROLLERS
        + "def test_green(harness):\n"
        + "    cluster = harness(Waiting())\n"
        + "    cluster.apply(THING)\n"
        + "    cluster.advance(timedelta(minutes=20))\n"
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")

    result.assert_outcomes(passed=1)
    assert "not Ready" not in "\n".join(result.outlines)


class Stubborn(Controller[Thing]):
    """Fails with a new number each time, and with a long text of several lines."""

    manages = (kinds.CONFIG_MAP,)

    def __init__(self) -> None:
        self._attempts = 0

    @state(initial=True)
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """Never."""
        self._attempts += 1
        if thing.spec.size > 1:
            return Done()
        return Failed("Broken", f"attempt {self._attempts}\nsecond line\n{'x' * 5000}")


def test_each_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A retry whose text differs only in a number is the same failure; another object's is not."""
    with Harness(Stubborn()) as cluster:
        for name in ("a", "b"):
            cluster.apply(Thing(name=name))
        with pytest.raises(NotSettledError) as caught:
            cluster.settle(timedelta(minutes=10))

    failed = [one for one in caplog.records if one.msg == "pass failed"]
    assert [one.facts["object"] for one in failed] == ["default/a", "default/b"]  # type: ignore[attr-defined]
    told = str(caught.value).splitlines()
    assert told[2] == "      state made: Made is False (Broken): attempt 1"
    assert told[3] == "        second line"
    assert len(str(caught.value)) < 5000
    assert not [
        one
        for one in logging.getLogger("myrmidon.controller").filters
        if isinstance(one, OncePerFailure)
    ]


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (None, "it is gone, or has not been seen yet"),
        ({"metadata": {}}, "no pass over it has ended yet: it has no condition Ready"),
        (
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            "it is being deleted",
        ),
        (
            {
                "metadata": {"generation": 2},
                "status": {
                    "conditions": [
                        {"type": "Ready", "status": "False", "reason": "PruneRefused",
                         "message": "too many", "observedGeneration": 1}
                    ]
                },
            },
            "the walk: Ready is False (PruneRefused): too many",
        ),
    ],
    ids=["gone", "new", "deleted", "after the walk"],
)  # fmt: skip
def test_an_object_is_explained_as_far_as_possible(obj: dict[str, object], told: str) -> None:
    """Also if no state has failed."""
    from myrmidon.api.objects.refs import ObjectRef  # noqa: PLC0415

    lines = told_object(ObjectRef(Thing.KIND, "a", "default"), obj, Stubborn.graph)

    assert lines[0] == "  Thing.demo.myrmidon.dev default/a"
    assert f"      {told}" in lines
    if told.startswith("the walk"):
        assert lines[-1] == "      it has generation 2; its conditions are of generation 1"


class Meddled(Controller[Thing]):
    """Sets a status field that the server refuses."""

    @state(initial=True)
    def made(self, thing: Thing, out: OutputSet) -> Result:
        """It is made."""
        return Done()


def test_a_refused_status_is_reported() -> None:
    """The object's own conditions cannot report it."""
    with Harness(Meddled(), manifests=[]) as cluster:
        cluster.settle()
        crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, "things.demo.myrmidon.dev")
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["status"]["properties"]["observedGeneration"]["maximum"] = 0
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, "things.demo.myrmidon.dev", crd)
        cluster.apply(Thing(name="a", spec=ThingSpec(size=1)))
        cluster.advance(timedelta(minutes=1))

        told = cluster.explain()

    assert (
        "refused: PATCH /apis/demo.myrmidon.dev/v1/namespaces/default/things/a/status 422" in told
    )
    assert "status.observedGeneration" in told


def test_a_healthy_cluster_has_nothing_to_explain() -> None:
    """Objects that are Ready are not mentioned."""
    with Harness(Stubborn()) as cluster:
        cluster.apply(Thing(name="a", spec=ThingSpec(size=2)))
        cluster.settle()
        assert cluster.explain() == ""
        cluster.apply(config_map("other"))
        assert cluster.explain() == ""

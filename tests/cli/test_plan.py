"""`myrmidon plan` and `myrmidon explain`: their output, and that nothing is written."""

import json
import re
from pathlib import Path

import pytest

from myrmidon.api.objects.accessors import Json
from myrmidon.cli.main import main
from myrmidon.cli.plans.planned_writes import masked
from tests.cli.test_front_door import cluster

SAMPLE = "examples/config_copy/sample.yaml"
STORY = """\
(as if the cluster were empty)

ConfigCopy.demo.myrmidon.dev default/settings
  path:  copied
  Ready

patch ConfigCopy default/settings
  + metadata.finalizers: ['demo.myrmidon.dev/config-copy']

patch ConfigCopy default/settings status
  (what the framework notes for itself)

create ConfigMap team-a/settings
  + metadata:
  +   annotations:
  +     myrmidon.dev/parent: configcopies.demo.myrmidon.dev/default/settings
  +   labels:
  +     myrmidon.dev/parent-uid: 00000000-0000-4000-8000-000000000009
  + data:
  +   log-level: info
  +   region: north
"""


def test_a_new_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Its path, and every object that it would create, as YAML."""
    assert main(["plan", "--offline", "examples/config_copy", SAMPLE]) == 0
    assert capsys.readouterr().out.startswith(STORY)


def test_a_status_is_shown_field_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    """Also the first status, in which every field is new."""
    main(["plan", "--offline", "examples/web_app", "examples/web_app/sample.yaml"])
    told = capsys.readouterr().out

    assert "patch WebApp default/shop status\n  + status.Configured: 'True (Done)'\n" in told
    assert max(map(len, told.splitlines())) <= 80


def test_a_file_without_the_right_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the expected kind."""
    path = tmp_path / "other.yaml"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}))
    assert main(["plan", "--offline", "examples/web_app", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error: {path} does not hold an object that examples/web_app controls.\n"
        "  fix: add a WebApp to the file\n"
    )


def test_a_target_that_is_neither_a_file_nor_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    """The message says what can be named."""
    assert main(["plan", "--offline", "examples/web_app", "shop"]) == 2
    assert capsys.readouterr().err == (
        "error: shop is neither a file nor an object of this target.\n"
        "  fix: name a YAML file, or webapp/NAME\n"
    )


def test_explain_of_an_object_that_does_not_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says how to find existing ones."""
    with cluster(tmp_path, "admin") as kubeconfig:
        arguments = ["configmap", "nope", "-n", "kube-system", "--kubeconfig", str(kubeconfig)]
        assert main(["explain", *arguments]) == 2
        assert capsys.readouterr().err == (
            "error: ConfigMap kube-system/nope does not exist.\n"
            "  fix: `kubectl get configmaps -A` lists the objects that do\n"
        )


def test_the_values_of_a_secret_are_not_shown() -> None:
    """A new one, a change, and what kubectl keeps in an annotation; as `kubectl diff` masks them."""
    secret: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "type": "Opaque",
    }
    note = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
    before: Json = {
        **secret,
        "metadata": {"name": "a", "annotations": note},
        "data": {"same": "aHVudGVyMg==", "changed": "b2xk", "gone": "Z29uZQ=="},
    }
    after = {**before, "data": {"same": "aHVudGVyMg==", "changed": "bmV3", "new": "bmV3"}}
    was, now = masked(before, after)

    assert was is not None
    assert was["data"] == {"same": "***", "changed": "*** (before)", "gone": "***"}
    assert now["data"] == {"same": "***", "changed": "*** (after)", "new": "***"}
    assert "hunter2" not in json.dumps((was, now))
    assert before["data"]["same"] == "aHVudGVyMg=="
    assert masked(None, {**secret, "stringData": {"a": "hunter2"}})[1]["stringData"] == {"a": "***"}


def test_other_kinds_are_shown_as_they_are() -> None:
    """Also one that is only called Secret."""
    for api_version, kind in (("v1", "ConfigMap"), ("demo.example.com/v1", "Secret")):
        obj = {"apiVersion": api_version, "kind": kind, "data": {"a": "b"}}
        assert masked(obj, obj) == (obj, obj)


WITH_SECRET = """\
from myrmidon import Controller, Done, Kind, Model, Resource, Status, kinds, state

class ThingSpec(Model):
    size: int = 1

class Thing(Resource[ThingSpec, Status], group="demo.myrmidon.dev", version="v1"):
    pass

MONITOR = Kind("monitoring.example.com", "v1", "ServiceMonitor", "servicemonitors")

class Things(Controller[Thing]):
    manages = (kinds.SECRET,)
    reads = (MONITOR,)

    def __init__(self):
        self.billing = Billing()

    @state(initial=True)
    def made(self, thing, out, ctx):
        out.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": thing.name},
                   "stringData": {"password": "hunter2"}})
        self.billing.charge(thing.name)
        return Done()

class Billing:
    def charge(self, name):
        print("CHARGED", name)
"""
THING = {
    "apiVersion": "demo.myrmidon.dev/v1",
    "kind": "Thing",
    "metadata": {"name": "a"},
    "spec": {},
}


@pytest.fixture
def things(tmp_path: Path) -> Path:
    """A controller that writes a Secret, reads a kind of another project, and calls a system."""
    (tmp_path / "controller.py").write_text(WITH_SECRET)
    (tmp_path / "thing.yaml").write_text(json.dumps(THING))
    return tmp_path


def test_a_plan_masks_secrets_and_names_the_calls_to_other_systems(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The calls are made, so the warning comes before them."""
    assert main(["plan", "--offline", str(things), str(things / "thing.yaml")]) == 0
    told = capsys.readouterr()

    assert "  +   password: '***'\n" in told.out
    assert "hunter2" not in told.out + told.err
    assert "aHVudGVyMg" not in told.out + told.err
    assert told.err == (
        "warning: a plan runs the states of Things, and with them these calls:\n"
        f"  self.billing.charge  ({things / 'controller.py'}:22)\n"
        "  fix: if they have effects, write `if not ctx.planning:` before them, or make the system an "
        "External\n\n"
    )


def test_a_state_that_asks_whether_it_is_a_plan_is_not_warned_about(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has decided."""
    code = WITH_SECRET.replace(
        "        self.billing.c", "        if not ctx.planning: self.billing.c"
    )
    (things / "controller.py").write_text(code)
    assert main(["plan", "--offline", str(things), str(things / "thing.yaml")]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "CHARGED" not in told.out


def test_a_kind_without_definition_is_planned_as_if_there_were_none(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that installs ours, and the name of the one that another program defines."""
    with cluster(things, "admin") as kubeconfig:
        where = ["--kubeconfig", str(kubeconfig)]
        assert main(["plan", str(things), str(things / "thing.yaml"), *where]) == 0
        told = capsys.readouterr().out
        assert "the cluster does not serve Thing (demo.myrmidon.dev/v1) yet: install its" in told
        assert (
            "(the cluster does not serve ServiceMonitor (monitoring.example.com/v1); planned as if it "
            "had none. A controller waits for it: install the program that defines "
            "servicemonitors.monitoring.example.com, in version v1)\n"
        ) in told
        assert "create Secret default/a" in told


def test_an_object_of_a_kind_without_definition(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It does not exist, because its kind does not."""
    with cluster(things, "admin") as kubeconfig:
        assert main(["plan", str(things), "thing/a", "--kubeconfig", str(kubeconfig)]) == 2
        assert capsys.readouterr().err.partition("\n\n")[2] == (
            "error: the cluster does not serve Thing (demo.myrmidon.dev/v1), so it has no "
            "Thing.demo.myrmidon.dev default/a.\n"
            f"  fix: install its definition, `myrmidon generate crd {things}/controller.py | kubectl "
            "apply -f -`, or plan the object of a file\n"
        )


FORKED = """\
from myrmidon import Controller, Done, Fork, Model, OutputSet, Resource, Status, kinds, state

class ThingSpec(Model): pass

class Thing(Resource[ThingSpec, Status], group="demo.example.com", version="v1"): pass

class Things(Controller[Thing]):
    manages = (kinds.CONFIG_MAP,)

    @state(initial=True, then=Fork("left", "right"))
    def begun(self, thing, out): return Done()

    @state()
    def left(self, thing, out):
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "empty"}})
        return Done()

    @state()
    def right(self, thing, out): return Done()
"""


def test_branches_of_a_fork_and_an_object_without_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Branches are told apart, and an object that is only a name has no empty body below it."""
    (tmp_path / "controller.py").write_text(FORKED)
    (tmp_path / "sample.yaml").write_text(
        "apiVersion: demo.example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: default}\nspec: {}\n"
    )
    assert main(["plan", "--offline", str(tmp_path), str(tmp_path / "sample.yaml")]) == 0
    told = capsys.readouterr().out
    assert "path:  begun → left ‖ right" in told
    assert "create ConfigMap default/empty\n\n" in told


def test_a_call_of_a_finalizer_state_is_only_for_deletions(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan of an object that lives does not make it, and the warning says so."""
    finalizer = "    @state(finalizer=True)\n    def gone(self, thing, out):\n"
    code = WITH_SECRET.replace("        self.billing.charge(thing.name)\n", "").replace(
        "class Billing",
        f"{finalizer}        self.billing.charge(thing.name)\n        return Done()\n\nclass Billing",
    )
    (things / "controller.py").write_text(code)
    assert main(["plan", "--offline", str(things), str(things / "thing.yaml")]) == 0
    told = capsys.readouterr()

    assert re.search(
        r"self\.billing\.charge  \(.*:\d+, only for an object that is being deleted\)\n", told.err
    )
    assert "CHARGED" not in told.out

"""`myrmidon plan` and `myrmidon explain`: their output, and that nothing is written."""

import json
from pathlib import Path

import pytest

from myrmidon.cli.main import main
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

"""`myrmidon simulate`: scenarios without code, the story of a failure, its artefact and its replay."""

import json
from pathlib import Path

import pytest

from myrmidon.cli.main import main

TARGET = "tests/cli/half_pair.py"


def test_a_bug_is_found_told_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story says what is wrong, the shortest plan, what happened, and the command to replay it."""
    chosen = ["simulate", TARGET, "--budget", "ci", "--faults", "crash"]
    assert main([*chosen, "--report", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    artefacts = sorted(tmp_path.glob("pair-[0-9].json"))
    assert "Secret default/sample does not exist" in told
    assert "Secret default/sample is missing" in told
    assert "the process dies after the server has acted" in told
    assert "controller-0 sent: create ConfigMap sample" in told
    assert "the server stored version" in told
    assert "user changed Pair/sample, spec: size: 2" in told
    assert told.count("What happened") < told.count("FAILURE"), "one run is told once"
    replay = f"myrmidon simulate {TARGET} --replay {artefacts[0]}"
    assert replay in told

    assert main(replay.split()[1:]) == 1
    assert "the run is the same as the stored one" in capsys.readouterr().out

    document = json.loads(artefacts[0].read_bytes())
    document["plan"]["faults"] = []
    artefacts[0].write_text(json.dumps(document))
    assert main(replay.split()[1:]) == 0
    assert "does not fail any more" in capsys.readouterr().out


def test_a_right_controller_with_a_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The objects of other kinds exist from the start; nothing is written to the report folder."""
    arguments = ["simulate", "examples/config_copy", "examples/config_copy/sample.yaml"]
    report = tmp_path / "none"
    assert main([*arguments, "--budget", "0.2s", "--report", str(report)]) == 0
    told = capsys.readouterr().out
    assert "create ConfigCopy settings, 1 edit: no failure" in told
    assert "create ConfigCopy settings, 1 edit, delete: no failure" in told
    assert not report.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "soon"], "the budget 'soon' is unknown"),
        (["--faults", "crush"], "'crush' is not a kind of fault"),
        (["missing.yaml"], "the sample missing.yaml does not exist"),
        (["--jobs", "0"], "numbers from 1 on"),
        (["--replay", "pyproject.toml"], "cannot be read as an artefact"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 2, and one sentence says what is wrong."""
    assert main(["simulate", TARGET, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_artefact_of_a_test_names_pytest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no steps, because its scenario is code."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"plan": {"faults": []}, "seed": 0}))
    assert main(["simulate", TARGET, "--replay", str(path)]) == 2
    assert "pytest --sim-replay" in capsys.readouterr().err

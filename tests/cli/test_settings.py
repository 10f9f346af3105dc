"""Settings of ``myrmidon run``: flags, environment variables, a YAML file, defaults, in that order."""

import argparse
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myrmidon.cli.commands.run import add_arguments
from myrmidon.cli.main import main
from myrmidon.errors import UsageError

LEVELS = ("debug", "info", "warning", "error")


def settings(
    *flags: str, file: Path | None = None, **environ: str
) -> tuple[argparse.Namespace, list[str]]:
    """Return the parsed options of ``run`` and the warnings about variables."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    config = ("--config", str(file)) if file else ()
    args = parser.parse_args(["target", *config, *flags])
    return args, args.settings.fill(args, environ)


def written(folder: Path, text: str) -> Path:
    """Write a file of settings; return its path."""
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_every_option_has_a_default() -> None:
    """Without variables and a file, the options are those that ``--help`` names."""
    args, warnings = settings()
    assert (args.metrics_addr, args.workers, args.namespace) == (":8080", None, [])
    assert args.event_loop == "auto"
    assert not args.leader_election
    assert warnings == []


@given(
    flag=st.none() | st.sampled_from(LEVELS),
    variable=st.none() | st.sampled_from(LEVELS),
    line=st.none() | st.sampled_from(LEVELS),
)
def test_the_flag_wins_over_the_variable_and_the_variable_over_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    flag: str | None,
    variable: str | None,
    line: str | None,
) -> None:
    """The first that is given counts; without any, the default."""
    path = written(tmp_path_factory.mktemp("s"), f"log-level: {line}\n" if line else "")
    environ: dict[str, Any] = {"MYRMIDON_LOG_LEVEL": variable} if variable else {}
    args, _ = settings(*(("--log-level", flag) if flag else ()), file=path, **environ)
    assert args.log_level == (flag or variable or line or "info")


@pytest.mark.parametrize(
    ("flag", "dest", "text", "value"),
    [
        ("--workers", "workers", "8", 8),
        ("--client-qps", "client_qps", "2.5", 2.5),
        ("--sync-period", "sync_period", "1h30m", timedelta(minutes=90)),
        ("--metrics-addr", "metrics_addr", ":9090", ":9090"),
        ("--event-loop", "event_loop", "asyncio", "asyncio"),
    ],
)
def test_a_value_means_the_same_in_all_three_places(
    tmp_path: Path, flag: str, dest: str, text: str, value: Any
) -> None:
    """It goes through the same parser."""
    by_flag, _ = settings(flag, text)
    environ: dict[str, Any] = {f"MYRMIDON_{dest.upper()}": text}
    by_variable, _ = settings(**environ)
    by_file, _ = settings(file=written(tmp_path, f"{flag[2:]}: {text!r}\n"))
    by_other_spelling, _ = settings(file=written(tmp_path, f"{dest}: {text!r}\n"))
    for args in (by_flag, by_variable, by_file, by_other_spelling):
        assert getattr(args, dest) == value


def test_an_option_that_may_be_repeated_takes_a_list(tmp_path: Path) -> None:
    """Comma-separated in a variable; flags replace the others and do not add to them."""
    assert settings(MYRMIDON_NAMESPACE="shop, bank")[0].namespace == ["shop", "bank"]
    path = written(tmp_path, "namespace: [shop, bank]\n")
    assert settings(file=path)[0].namespace == ["shop", "bank"]
    assert settings(file=written(tmp_path, "namespace: shop\n"))[0].namespace == ["shop"]
    assert settings("--namespace", "test", file=path)[0].namespace == ["test"]


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("1", True), ("off", False)])
def test_switches_are_true_or_false(tmp_path: Path, text: str, *, expected: bool) -> None:
    """A flag can switch off what a variable switches on."""
    assert settings(MYRMIDON_LEADER_ELECTION=text)[0].leader_election is expected
    path = written(tmp_path, f"leader-election: {text}\n")
    assert settings(file=path)[0].leader_election is expected
    assert not settings("--no-leader-election", file=path)[0].leader_election


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("worker: 8", r"there is no option 'worker'.\n  fix: write workers"),
        ("colour: red", r"there is no option 'colour'.\n  fix: use one of .*workers"),
        ("workers: many", r"workers is 'many', which does not fit --workers"),
        ("workers: true", r"workers is True, which is not a value for --workers"),
        ("log-level: loud", r"log-level is 'loud'.\n  fix: use one of debug, info"),
        ("sync-period: 10", r"'10' is not a duration; write 10h"),
        ("trace: perhaps", r"neither true nor false"),
        ("- workers", r"does not contain a mapping"),
        ("a: [", r"is not valid YAML"),
    ],
)
def test_a_wrong_file_is_an_error_with_a_fix(tmp_path: Path, text: str, said: str) -> None:
    """It names the file, the option and the values that are possible."""
    with pytest.raises(UsageError, match=said) as raised:
        settings(file=written(tmp_path, text))
    assert "settings.yaml" in str(raised.value)
    assert "fix:" in str(raised.value)


def test_a_wrong_variable_is_named() -> None:
    """Variables of other programs are ignored; one that looks misspelled is reported."""
    with pytest.raises(UsageError, match="MYRMIDON_WORKERS is 'x'"):
        settings(MYRMIDON_WORKERS="x")
    _, warnings = settings(MYRMIDON_WORKER="8", MYRMIDON_SERVICE_HOST="10.0.0.1", OTHER="1")
    assert warnings == ["the variable MYRMIDON_WORKER is not an option; MYRMIDON_WORKERS is"]


def test_a_file_that_is_missing_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The variable can name the file, too."""
    monkeypatch.setenv("MYRMIDON_CONFIG", "/does/not/exist.yaml")
    assert main(["run", "examples/web_app"]) == 2
    said = capsys.readouterr().err
    assert "/does/not/exist.yaml" in said
    assert "fix:" in said
    assert "Traceback" not in said

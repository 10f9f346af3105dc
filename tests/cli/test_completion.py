"""Completion scripts: what they offer, and that the shells can read them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from myrmidon.cli.completions import commands
from myrmidon.cli.main import COMMANDS, command_module, main


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `myrmidon completion` prints."""
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_command_and_option_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    """In each shell, by the name that the parser has."""
    for shell in ("bash", "zsh", "fish"):
        text = script(shell, capsys)
        for command in commands():
            assert command.name in text
            for option in command.options:
                assert option.names[-1].lstrip("-") in text


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ge", ["generate"]),
        ("run good --log-fo", ["--log-format"]),
        ("run good --log-format j", ["json"]),
        ("generate cr", ["crd"]),
    ],
)
def test_bash_completes(
    words: str, offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last word is the one under the cursor."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    number = len(words.split())
    code = (
        f"{script('bash', capsys)}\nCOMP_WORDS=(myrmidon {words})\nCOMP_CWORD={number}\n_myrmidon\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [bash, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As far as they are installed."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script(shell, capsys))
    subprocess.run([program, "-n", str(path)], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_has_an_example(name: str) -> None:
    """A line that can be typed."""
    text = command_module(name).__doc__ or ""
    assert f"myrmidon {name} " in text

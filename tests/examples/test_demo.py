"""`make demo` ends well and says what was to be seen."""

import re
import subprocess
import sys
from pathlib import Path

INDEX = Path(__file__).parents[2] / "docs/index.md"


def test_the_demo_plays_to_its_end() -> None:
    """In real time, as people see it; three acts, three closing lines that fit 80 columns."""
    played = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    lines = played.stdout.splitlines()

    assert played.returncode == 0, played.stderr
    assert [line[:2] for line in lines if line[:2] in {"1.", "2.", "3."}] == ["1.", "2.", "3."]
    assert any("backoffice  configured → deployed → exposed" in line for line in lines)
    assert any("deregistered  waits: Draining" in line for line in lines)
    assert [line.partition(":")[0] for line in lines[-3:]] == ["seen", "next", "then"]
    assert all(len(line) <= 80 for line in lines[-3:])
    (shown,) = re.findall(r"^```text\n(.*?)^```", INDEX.read_text(), re.MULTILINE | re.DOTALL)
    for line in shown.splitlines():  # steps on the way may be too quick to be printed
        if line[0] in "123✓∅":
            assert any(line.partition("  wrote")[0] in printed for printed in lines), line

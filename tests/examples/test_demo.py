"""`make demo` ends well and says what was to be seen."""

import subprocess
import sys


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

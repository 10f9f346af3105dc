"""The path of a new developer: clone, `make demo`, `make test`, with the time of each step.

    python3 tests/fresh_clone.py                # what `make test-fresh` runs
    python3 tests/fresh_clone.py demo lint      # other targets of the Makefile

The last commit of this checkout is cloned into a temporary folder, with a home folder of its own and
none of the variables of this shell, so that nothing is found that a new machine does not have: no
virtual environment, no caches, no settings of git or pip except where packages come from.  It needs
only Python, make, git and the network, therefore this script imports nothing of the project.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = ("demo", "test")
KEPT = ("PATH", "LANG", "http_proxy", "https_proxy", "no_proxy")
KEPT_PREFIXES = ("PIP_", "SSL_CERT_")


def main(targets: list[str]) -> int:
    """Run the steps and print the time of each; return the exit status of the first that fails."""
    with tempfile.TemporaryDirectory(prefix="fresh-clone-") as folder:
        clone, home = Path(folder) / "myrmidon", Path(folder) / "home"
        home.mkdir()
        environ = new_environ(os.environ, home)
        steps = [["git", "clone", "--quiet", "--no-local", str(ROOT), str(clone)]]
        steps += [["make", "-C", str(clone), f"PYTHON={sys.executable}", one] for one in targets]
        times = []
        for step in steps:
            name = "git clone" if step[0] == "git" else f"make {step[-1]}"
            print(f"--- {name}", flush=True)
            begun_at = time.monotonic()
            status = subprocess.run(step, env=environ, check=False).returncode
            times.append(f"{name:12} {time.monotonic() - begun_at:6.0f} s")
            if status:
                print("\n".join([*times, f"{name} failed with status {status}"]))
                return status
        changed = _output(["git", "-C", str(clone), "status", "--porcelain"], environ)
        print("\n".join(times))
        if changed:
            print(f"these files are not ignored by git, or were changed:\n{changed}")
        return 1 if changed else 0


def new_environ(environ: "os._Environ[str] | dict[str, str]", home: Path) -> dict[str, str]:
    """Return the environment of a new user: where packages come from, and nothing else of this one."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in KEPT or name.startswith(KEPT_PREFIXES)
    }
    return {**kept, "HOME": str(home)}


def _output(command: list[str], environ: dict[str, str]) -> str:
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(TARGETS)))

"""The files of a new project: paths to texts."""

import re
from importlib.resources import files as resources

from myrmidon.cli.scaffold.names import Names
from myrmidon.cli.scaffold.requirements import pinned_requirements, requirement
from myrmidon.generate.manifests.image import PYTHON, ImageSource, dockerfile, dockerignore

_HOLE = re.compile(r"\{\{(\w+)\}\}")
_HEAD = """\
# The versions that the image installs. `make lock` writes the newest ones, with hashes.
"""


def project_files(names: Names) -> dict[str, str]:
    """Return the text of each file, by its path in the project."""
    values = {
        "name": names.name,
        "package": names.package,
        "kind": names.kind.kind,
        "singular": names.kind.kind.lower(),
        "plural": names.kind.plural,
        "group": names.kind.group,
        "controller": names.controller,
        "requirement": requirement(),
        "python": PYTHON,
    }

    def filled(template: str) -> str:
        text = resources(__package__).joinpath("templates", f"{template}.txt").read_text("utf-8")
        return _HOLE.sub(lambda hole: values[hole[1]], text)

    return {
        f"{names.package}/__init__.py": filled("package.py"),
        f"{names.package}/controller.py": filled("controller.py"),
        "tests/test_controller.py": filled("test_controller.py"),
        "sample.yaml": filled("sample.yaml"),
        "pyproject.toml": filled("pyproject.toml"),
        "requirements.txt": _HEAD + "".join(f"{line}\n" for line in pinned_requirements()),
        "Makefile": filled("Makefile"),
        "Dockerfile": dockerfile(ImageSource(is_project=True, is_locked=True)),
        ".dockerignore": dockerignore(),
        ".gitignore": filled("gitignore"),
        "README.md": filled("README.md"),
    }

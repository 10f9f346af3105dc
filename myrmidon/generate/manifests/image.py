"""The Dockerfile of a controller, and which files of its folder go into the image.

The image has two stages.  The first one installs into a virtual environment, the second one gets a
copy of that environment and nothing else: no pip, no source tree, no cache.  What must hold:

- A change of the code does not install the dependencies again: they have a layer of their own,
  which depends only on requirements.txt.
- No compiler is needed: ``--only-binary`` refuses a dependency that would have to be compiled.
- The same input gives the same files: versions are pinned in requirements.txt (with hashes after
  ``make lock``), and with SOURCE_DATE_EPOCH compiled modules have a hash instead of a time.
- The pod runs as a user that is not root, with a read-only file system.  Modules are compiled
  during the build, because they could not be compiled later.

A folder without a pyproject.toml cannot be installed; its files are copied into ``/app``, from
where ``myrmidon run .`` imports them.  Without a requirements.txt the image has this release of
myrmidon and the newest dependencies.
"""

from dataclasses import dataclass

PYTHON = "3.13"
USER = 65532
_EPOCH = 315532800  # 1980-01-01, the first date that a wheel can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """What the folder has from which the image is built."""

    is_project: bool = False
    """A pyproject.toml, from which the program is installed."""
    is_locked: bool = False
    """A requirements.txt with the versions of all dependencies."""
    myrmidon: str = "myrmidon"
    """The requirement to install where requirements.txt is missing, such as ``myrmidon==0.1.0``."""


def dockerfile(source: ImageSource) -> str:
    """Return the Dockerfile; it is built with the folder of the program as the context."""
    return f"""\
# docker build --tag IMAGE --file PATH_OF_THIS_FILE FOLDER_OF_THE_PROGRAM
# To build from exactly the same base image each time, write its digest: python:{PYTHON}-slim@sha256:...
FROM python:{PYTHON}-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH={_EPOCH}
RUN python -m venv --without-pip /venv
WORKDIR /src
{_installed(source)}
FROM python:{PYTHON}-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /venv /venv
WORKDIR /app
{"" if source.is_project else "COPY . ." + chr(10)}USER {USER}:{USER}
ENTRYPOINT ["myrmidon"]
"""


def _installed(source: ImageSource) -> str:
    """Return the steps that fill the virtual environment, dependencies first."""
    pip = "RUN python -m pip --python /venv/bin/python install"
    steps = ""
    if source.is_locked:
        steps += "# The dependencies, in a layer that is built again only when requirements.txt changes.\n"
        steps += "COPY requirements.txt .\n"
        steps += f"{pip} --only-binary :all: --requirement requirements.txt\n"
    elif not source.is_project:
        steps += f"{pip} --only-binary :all: {source.myrmidon}\n"
    if source.is_project:
        steps += "# The program.\nCOPY . .\n"
        steps += f"{pip} {'--no-deps ' if source.is_locked else ''}.\n"
    return steps


def dockerignore() -> str:
    """Return the .dockerignore: files that would only rebuild layers or carry secrets are left out."""
    return """\
# Only the program goes into the image.
.*
**/__pycache__
**/*.pyc
*.egg-info
build
dist
deploy
charts
tests
Makefile
"""

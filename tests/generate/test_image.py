"""The Dockerfile: two stages, dependencies before code, not root, for each shape of a program."""

import itertools

import pytest

from myrmidon.generate.manifests.image import ImageSource, dockerfile, dockerignore

SHAPES = [
    ImageSource(is_project=project, is_locked=locked, myrmidon="myrmidon==1.2.3")
    for project, locked in itertools.product((False, True), repeat=2)
]


def steps(source: ImageSource) -> list[tuple[str, str]]:
    """Return the instructions, each with its argument."""
    lines = [line for line in dockerfile(source).splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("source", SHAPES, ids=str)
def test_every_image_ends_the_same_way(source: ImageSource) -> None:
    """The last stage copies the environment, is not root, and starts the command."""
    words = steps(source)
    last = len(words) - 1 - [word for word, _ in reversed(words)].index("FROM")

    assert [rest.partition(" ")[0] for word, rest in words if word == "FROM"] == [
        "python:3.13-slim"
    ] * 2
    assert ("COPY", "--from=build /venv /venv") in words[last:]
    assert "RUN" not in [word for word, _ in words[last:]]
    assert words[-2:] == [("USER", "65532:65532"), ("ENTRYPOINT", '["myrmidon"]')]


@pytest.mark.parametrize("source", SHAPES, ids=str)
def test_dependencies_are_installed_before_the_code_is_copied(source: ImageSource) -> None:
    """So that a change of the code does not install them again; only wheels are accepted."""
    words = steps(source)
    installs = [place for place, (_, rest) in enumerate(words) if "--only-binary :all:" in rest]

    assert len(installs) == (0 if source.is_project and not source.is_locked else 1)
    code = words.index(("COPY", ". ."))
    assert all(place < code for place in installs)


@pytest.mark.parametrize(
    ("source", "installed"),
    [
        (SHAPES[0], ["--only-binary :all: myrmidon==1.2.3"]),
        (SHAPES[1], ["--only-binary :all: --requirement requirements.txt"]),
        (SHAPES[2], ["."]),
        (SHAPES[3], ["--only-binary :all: --requirement requirements.txt", "--no-deps ."]),
    ],
    ids=str,
)
def test_what_is_installed(source: ImageSource, installed: list[str]) -> None:
    """The locked versions and the program; without a lock, what pip finds."""
    found = [rest.partition(" install ")[2] for word, rest in steps(source) if word == "RUN"]
    copied = [rest for word, rest in steps(source) if word == "COPY"]

    assert found == ["", *installed]  # the first one makes the environment
    assert ("requirements.txt ." in copied) == source.is_locked


def test_hidden_files_stay_outside() -> None:
    """A virtual environment, a repository and files with secrets begin with a dot."""
    assert ".*" in dockerignore().splitlines()

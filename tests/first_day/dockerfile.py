"""Execute the steps of a Dockerfile in chroots, where there is no container engine.

What is real: every instruction is executed, in order, stage by stage; RUN and the final command run
in a chroot of the stage's own files, with exactly the environment, working folder and user that the
Dockerfile sets; COPY takes only files that .dockerignore leaves, and only from the context or from an
earlier stage.  What is not: the base image is a Debian of the same release as ``python:3.13-slim`` with
Debian's own Python 3.13, instead of the published image; there are no layers, so nothing is cached;
no registry and no image format are involved.

An instruction that is not known here is an error, so that a Dockerfile cannot be executed in part.
"""

import fnmatch
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Image:
    """The files of a stage and what its instructions have set."""

    root: Path
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    folder: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)

    def inside(self, path: str) -> Path:
        """Return the place of a path of the image, on this machine."""
        return self.root / Path(self.folder, path).relative_to("/")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Return each instruction with its arguments; comments and continued lines are resolved."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


def build(context: Path, base: Path, work: Path, environ: Mapping[str, str]) -> Image:
    """Execute the Dockerfile of a context and return the image of its last stage.

    ``environ`` is added to the environment of RUN, as build arguments are; it is not in the image.
    """
    stages: dict[str, Image] = {}
    image: Image | None = None
    for word, rest in instructions((context / "Dockerfile").read_text()):
        if word == "FROM":
            image = _start(rest, base, work / f"stage{len(stages)}")
            stages[rest.partition(" AS ")[2] or f"stage{len(stages)}"] = image
            continue
        assert image is not None, "a Dockerfile begins with FROM"
        match word:
            case "RUN":
                run(rest, image, environ)
            case "COPY":
                _copy(rest, image, stages, context)
            case _:
                _set(word, rest, image)
    assert image is not None, "a Dockerfile has a stage"
    return image


def _start(rest: str, base: Path, root: Path) -> Image:
    assert re.fullmatch(r"python:3\.13-slim( AS \w+)?", rest), f"no base image for {rest}"
    subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
    return Image(root)


def _set(word: str, rest: str, image: Image) -> None:
    """Execute an instruction that sets what later commands run with."""
    match word:
        case "ENV":
            for pair in rest.split():
                name, _, value = pair.partition("=")
                filled = _VARIABLE.sub(lambda found: image.environ.get(found[1], ""), value)
                image.environ[name] = filled
        case "WORKDIR":
            image.folder = str(Path(image.folder, rest))
            image.inside("").mkdir(parents=True, exist_ok=True)
        case "USER":
            image.user = rest
        case "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        case _:
            raise AssertionError(f"{word} is not known to this executor")


def run(command: str, image: Image, environ: Mapping[str, str]) -> None:
    """Execute a RUN instruction in an image; fail with its output if it fails."""
    script = f"cd {image.folder} && {command}"
    chroot = ["chroot", f"--userspec={image.user}", str(image.root), "/bin/sh", "-ec", script]
    ran = subprocess.run(
        chroot, env={**image.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"RUN {command}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"


def _copy(rest: str, image: Image, stages: Mapping[str, Image], context: Path) -> None:
    *options, source, target = rest.split()
    if options:
        (stage,) = (option.removeprefix("--from=") for option in options)
        shutil.copytree(
            stages[stage].inside(source), image.inside(target), symlinks=True, dirs_exist_ok=True
        )
        return
    for path in included(context):
        if source == "." or str(path) == source:
            place = image.inside(target) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(context / path, place)
    assert source == "." or image.inside(target).joinpath(source).is_file(), f"no file {source}"


def included(context: Path) -> list[Path]:
    """Return the files of a context that its .dockerignore does not leave out."""
    lines = (context / ".dockerignore").read_text().splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    found = []
    for folder, _, names in os.walk(context):
        for name in names:
            path = (Path(folder) / name).relative_to(context)
            if not any(_matches(path, pattern) for pattern in patterns):
                found.append(path)
    return sorted(found)


def _matches(path: Path, pattern: str) -> bool:
    """Whether a pattern names the path or a folder above it; ``**/`` stands for any folder."""
    name = pattern.removeprefix("**/")
    assert "/" not in name, f"{pattern} is not known to this executor"
    parts = path.parts if name != pattern else path.parts[:1]
    return any(fnmatch.fnmatchcase(part, name) for part in parts)

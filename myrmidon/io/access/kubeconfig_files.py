"""Read and merge kubeconfig files, as kubectl does.

``$KUBECONFIG`` may list several files.  Files that do not exist are left out.  Of two clusters, users
or contexts with the same name the first one counts, and so does the first ``current-context``.  A
relative path in an entry is relative to the file that has the entry, so each entry keeps its folder.

kubernetes-asyncio has a loader as well, but importing it also imports the models of all built-in
kinds: half a second and more than 60 MB, which a controller otherwise never needs.
"""

import atexit
import base64
import binascii
import os
import shutil
import tempfile
from copy import deepcopy
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from myrmidon.errors import UsageError

_LISTS = ("clusters", "users", "contexts")


class KubeconfigEntry:
    """A cluster, a user or the context itself, with the folder of the file that it comes from."""

    def __init__(self, value: dict[str, Any], folder: Path) -> None:
        self.value, self.folder = value, folder

    def text(self, key: str) -> str:
        """Return the value of a key as text; empty if it is missing."""
        return str(self.value.get(key) or "")

    def file(self, key: str) -> str:
        """Return the path of a file: of ``key-data``, decoded, or that of ``key``; empty without both.

        The data win, as in client-go.
        """
        data = self.value.get(f"{key}-data")
        if data:
            return _file_with(_decoded(f"{key}-data", str(data)))
        named = self.text(key)
        if not named:
            return ""
        path = self.folder / named
        if not path.is_file():
            raise ValueError(f"the file {path} of {key} does not exist")
        return str(path)


class KubeconfigFiles:
    """The files of a kubeconfig, merged.  A method raises ValueError for an entry that is malformed."""

    def __init__(self, paths: str) -> None:
        """Read the files.  Raise UsageError if one cannot be read, or if none of them exists."""
        self.paths: list[Path] = []
        self._contents: list[dict[str, Any]] = []
        for named in filter(None, paths.split(os.pathsep)):
            path = Path(named).expanduser()
            content = _content(path, named)
            if content is not None:
                self.paths.append(path)
                self._contents.append(content)
        if not self.paths:
            raise UsageError(
                f"there is no kubeconfig at {paths}.\n"
                "  fix: name another file with --kubeconfig or $KUBECONFIG"
            )
        self._saved = deepcopy(self._contents)

    def __str__(self) -> str:
        return os.pathsep.join(map(str, self.paths))

    def current_context(self) -> str:
        """Return the current-context of the first file that has one."""
        for content in self._contents:
            if content.get("current-context"):
                return str(content["current-context"])
        raise UsageError(
            f"the kubeconfig {self} has no current context.\n"
            "  fix: pass --context NAME, or run `kubectl config use-context NAME`"
        )

    def contexts(self) -> list[str]:
        """Return the names of all contexts, sorted."""
        return sorted({name for name, _, _ in self._named("contexts")})

    def find(self, what: str, name: Any) -> KubeconfigEntry | None:
        """Return the ``cluster``, ``user`` or ``context`` of this name, None if there is none."""
        for found, value, folder in self._named(f"{what}s"):
            if name is not None and found == str(name):
                inner = value.get(what) or {}
                if not isinstance(inner, dict):
                    raise ValueError(f"the {what} {name} is not a mapping")
                return KubeconfigEntry(inner, folder)
        return None

    def save(self) -> None:
        """Write the files whose content was changed."""
        for path, content, saved in zip(self.paths, self._contents, self._saved, strict=True):
            if content != saved:
                path.write_text(yaml.safe_dump(content, default_flow_style=False))
        self._saved = deepcopy(self._contents)

    def _named(self, items: str) -> list[tuple[str, dict[str, Any], Path]]:
        """Return the entries of one of the three lists, with their names and folders, in order."""
        found = []
        for path, content in zip(self.paths, self._contents, strict=True):
            for entry in content.get(items) or ():
                if not isinstance(entry, dict) or "name" not in entry:
                    raise UsageError(f"{path} is not a kubeconfig: an entry of {items} has no name")
                found.append((str(entry["name"]), entry, path.resolve().parent))
        return found


def _content(path: Path, named: str) -> dict[str, Any] | None:
    """Return the content of a file, None if it does not exist."""
    try:
        content, problem = yaml.safe_load(path.read_text()), ""
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        content, problem = None, _problem(error)
    if problem:  # raised outside the handler, whose error would quote a part of the file
        raise UsageError(
            f"the kubeconfig {named} cannot be read: {problem}.\n"
            "  fix: correct it, or name another file with --kubeconfig or $KUBECONFIG"
        )
    if not isinstance(content, dict):
        raise UsageError(f"{named} is not a kubeconfig: its content is not a mapping")
    for items in _LISTS:
        if not isinstance(content.get(items) or [], list):
            raise UsageError(f"{named} is not a kubeconfig: {items} is not a list")
    return content


def _problem(error: Exception) -> str:
    """Return what is wrong with a file, without quoting it: a kubeconfig has secrets."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it is not YAML" if isinstance(error, yaml.YAMLError) else "it is not UTF-8"


def _decoded(key: str, data: str) -> bytes:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        pass
    raise ValueError(
        f"{key} is not base64"
    )  # outside the handler, whose error could quote the data


@cache
def _folder() -> Path:
    """Return a folder that only this user can read, removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="myrmidon-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _file_with(content: bytes) -> str:
    """Return the path of a file with this content: Python's TLS takes only files.

    The same content gives the same path, so that a configuration that is loaded again is equal.
    """
    path = _folder() / sha256(content).hexdigest()
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(content)
    return str(path)

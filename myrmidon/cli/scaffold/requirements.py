"""The requirements.txt of a new project: the versions that are installed beside this myrmidon.

With it, an image can be built at once, with the versions that the author tries the project with.
``make lock`` in the project resolves them anew for the image's Python and adds hashes.
"""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OF_AN_EXTRA = re.compile(r"\bextra\s*==")


def requirement() -> str:
    """Return the requirement for the project's pyproject.toml: this release and its corrections."""
    try:
        return f"myrmidon~={distribution('myrmidon').version}"
    except PackageNotFoundError:
        return "myrmidon"


def exact_requirement(extra: str = "") -> str:
    """Return the requirement of exactly this release, for an image without a requirements.txt."""
    exact = requirement().replace("~=", "==")
    return exact.replace("myrmidon", f"myrmidon[{extra}]", 1) if extra else exact


@cache
def pinned_requirements() -> tuple[str, ...]:
    """Return ``name==version`` for myrmidon and all that it needs, sorted.

    A dependency whose marker excludes it here (another system, an older Python) is not installed and
    is left out; those of extras are left out too.
    """
    found: dict[str, str] = {}
    waiting = ["myrmidon"]
    while waiting:
        name = waiting.pop()
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        normal = re.sub(r"[-_.]+", "-", name).lower()
        if normal in found:
            continue
        found[normal] = f"{normal}=={installed.version}"
        for line in installed.requires or ():
            named = _NAME.match(line)
            if named and not _OF_AN_EXTRA.search(line):
                waiting.append(named[0])
    return tuple(sorted(found.values()))
